// The IR of a level beside the lines of the program that it comes from.

// Takes the locations out of a line of IR: what is left, its places as "file:line", and its FX nodes.
function located(line) {
  let kept = "", at = 0;
  const places = new Set(), nodes = new Set();
  for (let start; (start = line.indexOf("loc(", at)) >= 0;) {
    let end = start + 4, depth = 1, quoted = false;
    for (; end < line.length && depth; end++) {
      const letter = line[end];
      if (quoted) { if (letter === "\\") end++; else if (letter === '"') quoted = false; }
      else if (letter === '"') quoted = true;
      else depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    }
    const location = line.slice(start, end);
    for (const [, file, number] of location.matchAll(/"((?:[^"\\]|\\.)*)":(\d+):\d+/g)) places.add(`${file}:${number}`);
    for (const [, node] of location.matchAll(/"([^"]+)"(?=[()])/g)) nodes.add(node);
    kept += line.slice(at, start).trimEnd();
    at = end;
  }
  return { text: kept + line.slice(at), places, nodes };
}

const prefixOf = name => name.slice(0, name.lastIndexOf(".") + 1);

// What a level has of a launch: the lines of @main that call it, then the functions that these name.  The name of
// a kernel says which sub-graph it is in; that of a torch op does not.
function partOf(functions, launch) {
  const torch = launch.kind === "torch", prefix = torch ? "" : prefixOf(launch.name);
  const mains = torch ? Object.keys(functions).filter(name => /(^|\.)main$/.test(name)) : [`${prefix}main`];
  const own = new Set(launch.nodes), called = `call @${launch.name.slice(prefix.length)}(`;
  const calls = mains.flatMap(main => (functions[main] || "").split("\n").map(located)
    .filter(line => line.text.includes("call @")).map(line => ({ line, prefix: prefixOf(main) })));
  const byName = calls.filter(({ line }) => line.text.includes(called));
  const found = byName.length ? byName : calls.filter(({ line }) => [...line.nodes].some(node => own.has(node)));
  const callees = new Set(found.flatMap(({ line, prefix }) =>
    [...line.text.matchAll(/call @([\w.$-]+)/g)].map(([, name]) => prefix + name)));
  const texts = [...callees].map(name => functions[name]).filter(Boolean);
  return [...found.map(({ line }) => line),
    ...texts.flatMap(text => [{ text: "", places: new Set() }, ...text.split("\n").map(located)])];
}

const lineNumber = place => Number(place.slice(place.lastIndexOf(":") + 1));
const fileOf = place => place.slice(0, place.lastIndexOf(":"));

// The lines of the program around the places, with those around them; a click on one lights up its IR.
function sourcePane(graph, places) {
  const pane = make("div", { class: "source" });
  for (const file of new Set(places.map(fileOf))) {
    pane.append(make("div", { class: "faint" }, file));
    const lines = (graph.sources[file] || "").split("\n");
    const wanted = new Set(places.filter(place => fileOf(place) === file).map(lineNumber));
    let last = 0;
    for (const number of lines.keys()) {
      const near = [...wanted].some(line => Math.abs(number + 1 - line) <= 5);
      if (!graph.sources[file] || !near) continue;
      if (last && last !== number) pane.append(make("div", { class: "faint" }, "⋯"));
      last = number + 1;
      const row = make("div", { class: "row" }, make("span", { class: "number" }, `${last}`), lines[number]);
      if (wanted.has(last)) {
        row.dataset.place = `${file}:${last}`;
        row.tabIndex = 0;
        row.classList.add("wanted");
      }
      pane.append(row);
    }
    if (!graph.sources[file]) pane.append(make("div", {}, `lines ${[...wanted].join(", ")} (the file was not to be read)`));
  }
  return pane;
}

function irPane(lines) {
  const pane = make("div", { class: "ir", tabindex: 0 });
  for (const line of lines) {
    const row = make("div", { class: "row" }, line.text || "\u00a0");
    row.dataset.places = [...line.places].join("\n");
    pane.append(row);
  }
  return pane;
}

// Lights up the rows of the IR and of the source that belong to the places.
function lightUp(box, places) {
  const lit = new Set(places);
  for (const row of box.querySelectorAll(".row")) {
    const own = row.dataset.place ? [row.dataset.place] : (row.dataset.places || "").split("\n");
    row.classList.toggle("lit", own.some(place => place && lit.has(place)));
  }
}

// linesAt: the located lines of a level, by its name
function beside(graph, places, linesAt) {
  const levels = Object.keys(graph.levels), right = make("div");
  const choose = make("select", { "aria-label": "level of the IR" }, ...levels.map(level => make("option", {}, level)));
  choose.value = levels.includes("scheduled") ? "scheduled" : levels[levels.length - 1];
  const fill = () => {
    const lines = linesAt(choose.value);
    right.replaceChildren(irPane(lines.length ? lines : [{ text: "nothing of it at this level", places: new Set() }]));
  };
  choose.onchange = fill;
  fill();
  const box = make("div", { class: "beside" },
    make("div", {}, make("h3", {}, "your program"), sourcePane(graph, places)),
    make("div", {}, make("h3", {}, "IR at the level ", choose), right));
  const follow = event => {
    const row = event.target.closest && event.target.closest(".row");
    if (row) lightUp(box, row.dataset.place ? [row.dataset.place] : (row.dataset.places || "").split("\n"));
  };
  box.addEventListener("mouseover", follow);
  // who chooses a line sees what belongs to it in the other pane
  const reveal = event => {
    follow(event);
    const from = event.target.closest(".source, .ir");
    for (const pane of box.querySelectorAll(".source, .ir")) {
      const first = pane !== from && pane.querySelector(".lit");
      if (first) pane.scrollTop = first.offsetTop - pane.offsetTop - pane.clientHeight / 3;
    }
  };
  box.addEventListener("focusin", reveal);
  box.addEventListener("click", reveal);
  return box;
}
