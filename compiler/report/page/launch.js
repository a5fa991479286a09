// What one launch is: a dialog, which the address of the page names.
const detail = document.getElementById("detail");
const named = (graph, launch) => `g${graph.id}-l${launch.number}`;

function facts(graph, launch, kernel) {
  const touched = numbers => numbers.map(n => `${graph.buffers[n].name} (${bytes(graph.buffers[n].bytes)})`);
  const found = [
    ["your lines", launch.lines.join(", ") || "no line of the program"],
    ["FX nodes", launch.nodes.join(", ") || "none"],
    ["estimate", `${time(launch.us)}, ${bytes(launch.bytes)} moved`],
    ["reads", touched(launch.reads).join(", ") || "nothing"],
    ["writes", touched(launch.writes).join(", ") || "nothing"],
  ];
  if (launch.choices.length) found.push(["decided by", launch.choices.join("; ")]);
  if (launch.tile) found.push(["tile", launch.tile]);
  if (kernel) found.push(["compiled", `${kernel.registers} registers a thread, ${kernel.stack
    ? `${bytes(kernel.stack)} of stack a thread: registers spill, or a function has an array`
    : "none spills"}, ${kernel.warps} warps, ${bytes(kernel.shared)} of shared memory`]);
  return make("table", {}, make("tbody", {}, ...found.map(([name, text]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, text)))));
}

// Opens the dialog on what the address then names.
function openDetail(id, title, ...content) {
  const close = make("button", { type: "button", class: "close" }, "Close (Escape)");
  close.onclick = () => detail.close();
  detail.replaceChildren(close, make("h2", { id: "detail-title" }, title), ...content);
  history.replaceState(null, "", `#${id}`);
  if (!detail.open) detail.showModal();
  detail.scrollTop = 0;
}

// A text that is long, and is made when it is unfolded.
function onDemand(title, content) {
  const lines = content.split("\n").length;
  const folded = make("details", {}, make("summary", {}, `${title} (${count(lines, "line", "lines")})`));
  folded.ontoggle = () => { if (folded.children.length === 1) folded.append(code(content)); };
  return folded;
}

function show(graph, launch) {
  const kernel = graph.kernels[launch.name];
  const text = (title, content) => content ? [onDemand(title, content)] : [];
  openDetail(named(graph, launch), `launch ${launch.number}: ${launch.name}`, facts(graph, launch, kernel),
    beside(graph, launch.lines, level => partOf(graph.levels[level], launch)),
    ...text("PTX", kernel && kernel.ptx), ...text("SASS", kernel && kernel.sass));
}
detail.onclose = () => {
  const line = document.getElementById(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  if (line) line.focus();
};

// a link to a launch of a graph
function linkTo(graph, launch) {
  return make("a", { href: `#${named(graph, launch)}` }, `launch ${launch.number}: ${launch.name}`);
}
