// Reads the data, and shows it.
const main = document.getElementById("main");

async function unpack(element) {
  const packed = Uint8Array.from(atob(element.textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
const read = async element => JSON.parse(await unpack(element));

// What costs most in all graphs.
function firstOf(graphs) {
  const launches = graphs.flatMap(graph => graph.byTime.slice(0, 1).map(launch => ({ graph, launch })));
  const missed = graphs.flatMap(graph => graph.missed.slice(0, 1).map(found => ({ graph, found })));
  const all = sum(graphs, graph => graph.us), cards = [];
  launches.sort((a, b) => (b.launch.us || 0) - (a.launch.us || 0));
  missed.sort((a, b) => b.found.us - a.found.us);
  if (launches.length) {
    const { graph, launch } = launches[0];
    const share = all ? `${(100 * (launch.us || 0) / all).toFixed(0)}% of ${time(all)}, ` : "";
    cards.push(make("div", {}, "The launch that takes longest", make("strong", {}, time(launch.us)),
      make("p", {}, linkTo(graph, launch)),
      make("p", {}, `${share}graph ${graph.id} (${graph.name}) at `, places(launch.lines))));
  }
  if (missed.length) {
    const { graph, found } = missed[0];
    cards.push(make("div", {}, "The missed fusion that would save most",
      make("strong", {}, time(found.us)),
      make("p", {}, make("a", { href: `#g${graph.id}-m0` }, found.ops.join(" + "))),
      make("p", {}, `${found.message}; graph ${graph.id} (${graph.name}) at `, places(found.lines))));
  }
  return make("div", { class: "first" }, ...cards);
}

function graphTable(graphs) {
  const longest = Math.max(...graphs.map(graph => graph.us), 1e-9);
  const went = make("div", {}, make("h2", {}, "Graphs"), table(graphs, [
    ["graph", g => `${g.id}`.padStart(9), g => make("a", { href: `#g${g.id}` }, `${g.id}: ${g.name}`)],
    ["estimate", g => g.us, g => measured(time(g.us), g.us / longest)],
    ["launches", g => g.launches.length, g => `${g.launches.length}`],
    ["at most allocated", peakOf, g => bytes(peakOf(g))],
    ["compile time", g => g.timing.seconds, g => time(g.timing.seconds * 1e6)],
    ["longest launch", g => g.byTime.length ? g.byTime[0].name : "",
      g => g.byTime.length ? linkTo(g, g.byTime[0]) : "none"],
  ], { label: "graphs" }));
  return went;
}

// The address names a launch, a missed fusion or a graph.
function follow(graphs) {
  const found = /^#g(\d+)-l(\d+)$/.exec(location.hash), graph = found && graphs[found[1]];
  if (graph && graph.launches[found[2]]) { show(graph, graph.launches[found[2]]); return; }
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) { target.scrollIntoView({ block: "center" }); target.focus(); }
}

async function start() {
  const head = JSON.parse(document.getElementById("data").textContent);
  const graphs = await Promise.all([...document.querySelectorAll("script.graph")].map(read));
  document.getElementById("versions").textContent =
    Object.entries(head.versions).map(([name, version]) => `${name} ${version}`).join(", ");
  if (head.compares) showComparison(head.compares, graphs);
  else showReport(graphs);
  await drawPictures();
  main.dataset.ready = "";
}

function showReport(graphs) {
  graphs.forEach(prepare);
  main.replaceChildren(firstOf(graphs), ...(graphs.length > 1 ? [graphTable(graphs)] : []),
    ...graphs.map(section));
  window.addEventListener("hashchange", () => follow(graphs));
  follow(graphs);
}
start().catch(error => { main.textContent = `The report cannot be shown: ${error}`; throw error; });
