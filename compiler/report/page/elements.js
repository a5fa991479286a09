// Elements, and numbers as people read them.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function scaled(value, units) {
  if (value === null || value === undefined) return "unknown";
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit++; }
  const whole = value >= 99.5 || unit === 0 && Number.isInteger(value);
  return `${whole ? value.toFixed(0) : value === 0 ? "0" : value.toPrecision(3)} ${units[unit]}`;
}
const bytes = n => scaled(n, ["B", "kB", "MB", "GB"]);
const time = us => scaled(us === null ? null : us * 1000, ["ns", "us", "ms", "s"]);
const sum = (rows, value) => rows.reduce((total, row) => total + (value(row) || 0), 0);

// "1 launch", "2 launches"
const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

// a number with a bar below it
function measured(text, share) {
  return make("div", {}, text, make("div", { class: "bar", style: `width:${Math.max(0, 100 * share)}%` }));
}

// lines of the program without their folders, which the tooltip has
function places(lines) {
  const parts = lines.map(line => make("span", { title: line }, line.split("/").pop()));
  return make("span", {}, ...parts.flatMap((part, n) => n ? [", ", part] : [part]));
}

const code = content => make("pre", { tabindex: 0 }, content);
