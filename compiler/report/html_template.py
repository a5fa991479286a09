"""HTML, style and script of the page that ``html_page.py`` writes; ``@DATA@`` stands for its data."""

TEMPLATE = r"""
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>What fuse-mlir made</title>
<style>
:root { color-scheme: light dark; --line: #8886; --bar: #4c78a8; --soft: #8882; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { position: sticky; top: 0; background: Canvas }
th button { all: unset; cursor: pointer; font-weight: 600 }
th button:focus-visible { outline: 2px solid var(--bar) }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tr[tabindex] { cursor: pointer } tr[tabindex]:hover { background: var(--soft) }
tr:focus-visible { outline: 2px solid var(--bar); outline-offset: -2px }
.bar { background: var(--bar); height: .5rem; min-width: 1px }
pre { overflow: auto; max-height: 40rem; background: var(--soft); padding: .8rem; font-size: 12px }
dialog { width: min(76rem, 92vw); max-height: 90vh; border: 1px solid var(--line); border-radius: 8px }
.scroll { max-height: 34rem; overflow: auto } .sum b { font-size: 1.1rem }
</style>
<h1>What fuse-mlir made</h1>
<main id="main"></main>
<dialog id="detail" aria-labelledby="detail-title"></dialog>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main"), detail = document.getElementById("detail");

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function scaled(value, step, units) {
  if (value === null || value === undefined) return "not estimated";
  let unit = 0;
  while (value >= step && unit < units.length - 1) { value /= step; unit++; }
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${units[unit]}`;
}
const bytes = n => scaled(n, 1000, ["B", "kB", "MB", "GB"]);
const time = us => scaled(us, 1000, ["us", "ms", "s"]);
const bar = share => make("div", { class: "bar", style: `width:${Math.max(0, 100 * share)}%` });

// columns: [title, value that sorts, cell]; open: what Enter or a click on a row does
function table(rows, columns, id, open) {
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr", open ? { tabindex: 0, id: id(row) } : {});
    for (const [, value, cell] of columns)
      line.append(make("td", typeof value(row) === "number" ? { class: "n" } : {}, cell(row)));
    if (open) line.onclick = () => open(row);
    line.row = row;
    body.append(line);
  }
  body.onkeydown = event => {
    const line = event.target.closest("tr");
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (next) next.focus();
    if (event.key === "Enter" && open) open(line.row);
    if (next || event.key === "Enter") event.preventDefault();
  };
  const heads = make("tr");
  for (const [title, value] of columns) {
    const button = make("button", { type: "button" }, title), head = make("th", { scope: "col" }, button);
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => value(a.row) < value(b.row) ? -1 : value(a.row) > value(b.row) ? 1 : 0;
      body.append(...[...body.children].sort((a, b) => down ? order(b, a) : order(a, b)));
    };
    heads.append(head);
  }
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, heads), body));
}
const code = content => make("pre", { tabindex: 0 }, content);
const text = (title, content) => content ? [make("h3", {}, title), code(content)] : [];

function show(graph, number) {
  const launch = graph.launches[number], kernel = graph.kernels[launch.name];
  const touched = numbers => numbers.map(n => `${graph.buffers[n].name} (${bytes(graph.buffers[n].bytes)})`);
  const facts = [
    ["lines", launch.lines.join(", ") || "no line of the program"], ["FX nodes", launch.nodes.join(", ")],
    ["estimate", `${time(launch.us)}, ${bytes(launch.bytes)} moved`],
    ["reads", touched(launch.reads).join(", ")], ["writes", touched(launch.writes).join(", ")],
  ];
  if (kernel) facts.push(["compiled", `${kernel.warps} warps, ${bytes(kernel.shared)} of shared memory, ` +
    `${bytes(kernel.stack)} of stack a thread (spills)`]);
  const list = make("table", {}, ...facts.map(([a, b]) => make("tr", {}, make("th", { scope: "row" }, a),
    make("td", {}, b))));
  const close = make("button", { type: "button" }, "Close (Escape)");
  close.onclick = () => detail.close();
  detail.replaceChildren(close, make("h2", { id: "detail-title" }, `launch ${number}: ${launch.name}`), list,
    ...text("IR", graph.functions[launch.name.split(".").pop()]), ...text("PTX", kernel && kernel.ptx));
  history.replaceState(null, "", `#g${graph.id}-l${number}`);
  if (!detail.open) detail.showModal();
}
detail.onclose = () => {
  const line = document.getElementById(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  if (line) line.focus();
};

function times(tree, total, depth = 0) {
  return Object.entries(tree).filter(([name]) => name !== "seconds")
    .sort((a, b) => b[1].seconds - a[1].seconds)
    .flatMap(([name, part]) => [{ name: "\u00a0".repeat(4 * depth) + name, seconds: part.seconds,
      share: part.seconds / total }, ...times(part, total, depth + 1)]);
}

function section(graph, id) {
  graph.id = id;
  graph.launches.forEach((launch, number) => launch.number = number);
  const total = graph.launches.reduce((sum, launch) => sum + (launch.us || 0), 0);
  const longest = Math.max(...graph.launches.map(l => l.us || 0), 1e-9);
  const peak = Math.max(...graph.launches.map(l => l.held), 1), seconds = graph.timing.seconds;
  const byTime = [...graph.launches].sort((a, b) => (b.us || 0) - (a.us || 0));
  const first = byTime[0], missed = graph.missed[0];
  main.append(
    make("h2", { id: `g${id}` }, `graph ${id}: ${graph.name}${graph.cached ? " (from the cache)" : ""}`),
    make("p", { class: "sum" }, `${graph.launches.length} launches, ${time(total)} at least on ` +
      `${graph.hardware}, at most ${bytes(peak)} allocated, compiled in ${seconds.toFixed(2)} s. `,
      ...(first ? [make("b", {}, `Longest: launch ${first.number} ${first.name}, ${time(first.us)}. `)] : []),
      ...(missed
        ? [make("b", {}, `Dearest missed fusion: ${missed.ops.join(" + ")}, ${time(missed.us)}.`)] : [])),
    make("h3", {}, "Launches, the longest first (Enter shows its IR)"),
    table(byTime, [
      ["number", l => l.number, l => `${l.number}`], ["launch", l => l.name, l => l.name],
      ["kind", l => l.kind, l => l.kind], ["your lines", l => l.lines.join(", "), l => l.lines.join(", ")],
      ["estimate", l => l.us || 0, l => time(l.us)], ["moved", l => l.bytes || 0, l => bytes(l.bytes)],
      ["share", l => `${l.us || 0}`.padStart(20), l => bar((l.us || 0) / longest)],
    ], l => `g${id}-l${l.number}`, l => show(graph, l.number)),
    make("h3", {}, "Not fused, by what it costs"),
    table(graph.missed, [
      ["saves at most", m => m.us, m => time(m.us)], ["bytes", m => m.bytes, m => bytes(m.bytes)],
      ["what", m => m.ops.join(" + "), m => m.ops.join(" + ")],
      ["why", m => m.rule, m => `${m.pass}: ${m.rule}: ${m.message}`],
      ["your lines", m => m.lines.join(", "), m => m.lines.join(", ")],
    ]),
    make("h3", {}, "Memory over time, with its owners"),
    table(graph.launches, [
      ["launch", l => l.number, l => `${l.number} ${l.name}`], ["allocated", l => l.held, l => bytes(l.held)],
      ["share of the peak", l => `${l.held}`.padStart(20), l => bar(l.held / peak)],
      ["largest owners", l => "", l => graph.buffers
        .filter(b => b.kind !== "argument" && b.first <= l.number && l.number <= b.last)
        .sort((a, b) => b.bytes - a.bytes).slice(0, 3).map(b => `${b.name} ${bytes(b.bytes)}`).join(", ")],
    ]),
    make("h3", {}, "Where compile time went"),
    table(times(graph.timing, Math.max(seconds, 1e-9)), [
      ["stage", t => t.name, t => t.name], ["seconds", t => t.seconds, t => t.seconds.toFixed(4)],
      ["share", t => `${t.seconds}`, t => bar(t.share)],
    ]),
    make("details", {}, make("summary", {}, "All remarks"), code(graph.remarks)),
    make("details", {}, make("summary", {}, "@main"),
      code(graph.functions.main || "")),
    make("details", {}, make("summary", {}, "The launch plan as Python"),
      code(graph.source || "none: the interpreter runs the module")));
}
data.graphs.forEach(section);
function follow() {
  const found = /^#g(\d+)-l(\d+)$/.exec(location.hash), graph = found && data.graphs[found[1]];
  if (graph && graph.launches[found[2]]) show(graph, Number(found[2]));
}
window.addEventListener("hashchange", follow);
follow();
</script>
"""
