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
  if (kernel) found.push(["compiled", `${kernel.warps} warps, ${bytes(kernel.shared)} of shared memory, ` +
    `${bytes(kernel.stack)} of stack a thread (spills)`]);
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

function show(graph, launch) {
  const kernel = graph.kernels[launch.name];
  const text = (title, content) => content ? [make("h3", {}, title), code(content)] : [];
  openDetail(named(graph, launch), `launch ${launch.number}: ${launch.name}`, facts(graph, launch, kernel),
    ...text("IR", graph.functions[launch.name]), ...text("PTX", kernel && kernel.ptx));
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
