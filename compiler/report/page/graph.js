// The section of one graph.
const longestOf = graph => graph.byTime[0];
const peakOf = graph => Math.max(0, ...graph.launches.map(launch => launch.held));

function prepare(graph, id) {
  graph.id = id;
  graph.launches.forEach((launch, number) => launch.number = number);
  graph.byTime = [...graph.launches].sort((a, b) => (b.us || 0) - (a.us || 0));
  graph.us = sum(graph.launches, launch => launch.us);
}

// What compiled kernels take, where there are some.
function compiledColumns(graph) {
  const kernel = launch => graph.kernels[launch.name] || {};
  const column = (title, name, read) => [title, l => kernel(l)[name] ?? -1,
    l => kernel(l)[name] === undefined ? "" : read(kernel(l)[name])];
  return Object.keys(graph.kernels).length
    ? [column("registers", "registers", n => `${n}`), column("spilled", "stack", n => n ? bytes(n) : "0")] : [];
}

function launchTable(graph) {
  const longest = Math.max(...graph.launches.map(l => l.us || 0), 1e-9);
  return table(graph.byTime, [
    ["number", l => l.number, l => `${l.number}`],
    ["estimate", l => l.us || 0, l => measured(time(l.us), (l.us || 0) / longest)],
    ["moved", l => l.bytes || 0, l => bytes(l.bytes)],
    ["launch", l => l.name, l => l.name], ["kind", l => l.kind, l => l.kind],
    ...compiledColumns(graph),
    ["your lines", l => l.lines.join(", "), l => places(l.lines)],
  ], { identify: l => named(graph, l), open: l => show(graph, l), label: `launches of graph ${graph.id}` });
}

function missedTable(graph) {
  const most = Math.max(...graph.missed.map(m => m.us), 1e-9);
  return table(graph.missed, [
    ["saves at most", m => m.us, m => measured(time(m.us), m.us / most)],
    ["bytes", m => m.bytes, m => bytes(m.bytes)],
    ["what", m => m.ops.join(" + "), m => m.ops.join(" + ")],
    ["why", m => m.rule, m => make("span", {}, make("b", {}, m.rule), `: ${m.message} `,
      make("span", { class: "faint" }, `(${m.pass})`))],
    ["your lines", m => m.lines.join(", "), m => places(m.lines)],
  ], { identify: m => `g${graph.id}-m${graph.missed.indexOf(m)}`, label: `missed fusions of graph ${graph.id}` });
}

function ownersAt(graph, number) {
  return graph.buffers.filter(b => b.kind !== "argument" && b.first <= number && number <= b.last)
    .sort((a, b) => b.bytes - a.bytes);
}

function memoryTable(graph) {
  const peak = Math.max(peakOf(graph), 1);
  return table(graph.launches, [
    ["number", l => l.number, l => `${l.number}`],
    ["allocated", l => l.held, l => measured(bytes(l.held), l.held / peak)],
    ["launch", l => l.name, l => l.name],
    ["largest owners", l => "", l => ownersAt(graph, l.number).slice(0, 3)
      .map(b => `${b.name} ${bytes(b.bytes)}`).join(", ")],
  ], { label: `memory of graph ${graph.id}` });
}

function stagesOf(tree, depth = 0) {
  return Object.entries(tree).filter(([name]) => name !== "seconds")
    .sort((a, b) => b[1].seconds - a[1].seconds)
    .flatMap(([name, part]) => [{ name, depth, seconds: part.seconds }, ...stagesOf(part, depth + 1)]);
}

function timeTable(graph) {
  const total = Math.max(graph.timing.seconds, 1e-9);
  return table(stagesOf(graph.timing), [
    ["time", t => t.seconds, t => measured(time(t.seconds * 1e6), t.seconds / total)],
    ["stage", t => t.name, t => make("span", { class: "indent", style: `--depth:${t.depth}` }, t.name)],
  ], { label: `compile time of graph ${graph.id}` });
}

// @main at each level beside all lines of the program that it comes from; made when it is unfolded.
function wholeGraph(graph) {
  const folded = unfold("@main at each level, beside your program");
  const lines = [...new Set(graph.launches.flatMap(launch => launch.lines))];
  folded.ontoggle = () => {
    if (folded.children.length === 1) folded.append(beside(graph, lines,
      level => (graph.levels[level].main || "").split("\n").map(located)));
  };
  return folded;
}

function unfold(title, ...content) { return make("details", {}, make("summary", {}, title), ...content); }

function section(graph) {
  const about = `${count(graph.launches.length, "launch", "launches")}, ${time(graph.us)} at least on ` +
    `${graph.hardware}, at most ${bytes(peakOf(graph))} allocated, compiled in ` +
    `${time(graph.timing.seconds * 1e6)}${graph.cached ? ", from the cache" : ""}.`;
  const parts = [make("h2", {}, `graph ${graph.id}: ${graph.name}`), make("p", {}, about)];
  if (graph.launches.length) parts.push(
    schedulePicture(graph),
    make("h3", {}, "Launches, the longest first"),
    make("p", { class: "faint" }, "Arrows move between rows, Enter or a click opens one, Escape closes it."),
    launchTable(graph));
  else parts.push(make("p", {}, "No launch: torch runs the graph as a whole, or it computes nothing."));
  parts.push(make("h3", {}, "Not fused, the dearest first"));
  parts.push(graph.missed.length ? missedTable(graph) : make("p", {}, "Nothing that would save time."));
  if (graph.launches.length) parts.push(make("h3", {}, "Memory over time, with its owners"), memoryTable(graph));
  parts.push(
    make("h3", {}, "Where compile time went"), flamePicture(graph), timeTable(graph),
    unfold("All remarks", code(graph.remarks.map(remark => remark.text).join("\n") || "none")),
    wholeGraph(graph),
    unfold("The launch plan as Python", code(graph.source || "none: the interpreter runs the module")));
  return make("section", { id: `g${graph.id}` }, ...parts);
}
