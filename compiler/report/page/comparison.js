// The page that compares two reports.
function difference(before, after, read) {
  if (before === null || after === null) return "";
  const by = after - before, share = before ? ` (${by > 0 ? "+" : "−"}${Math.abs(100 * by / before).toFixed(1)}%)` : "";
  return by === 0 ? "the same" : `${by > 0 ? "+" : "−"}${read(Math.abs(by))}${share}`;
}

const SUMS = [
  ["estimate", "us", time], ["moved", "bytes", bytes], ["at most allocated", "peak", bytes],
  ["launches", "launches", n => `${n}`], ["compile time", "seconds", s => time(s * 1e6)],
];

function sumsTable(sums, label) {
  const of = side => name => sums[side] ? sums[side][name] : null;
  const shown = (value, read) => value === null ? "none" : read(value);
  return table(SUMS, [
    ["sum", row => row[0], row => row[0]],
    ["before", row => of("before")(row[1]) || 0, row => shown(of("before")(row[1]), row[2])],
    ["after", row => of("after")(row[1]) || 0, row => shown(of("after")(row[1]), row[2])],
    ["difference", row => (of("after")(row[1]) || 0) - (of("before")(row[1]) || 0),
      row => difference(of("before")(row[1]), of("after")(row[1]), row[2])],
  ], { label });
}

function changedTable(graph, id) {
  const by = launch => (launch.us[1] || 0) - (launch.us[0] || 0);
  const how = launch => launch.change === "changed" ? `changed: ${launch.what.join(", ")}` : launch.change;
  const became = launch => launch.others.length
    ? ` (${launch.change === "added" ? "before" : "now"} ${launch.others.join(", ")})` : "";
  const pair = (values, read) => values.map(value => value === null ? "none" : read(value)).join(" → ");
  const rows = [...graph.launches].sort((a, b) => Math.abs(by(b)) - Math.abs(by(a)));
  return table(rows, [
    ["change", how, launch => how(launch)],
    ["difference", by, launch => difference(launch.us[0] || 0, launch.us[1] || 0, time)],
    ["estimate", launch => Math.max(launch.us[0] || 0, launch.us[1] || 0), launch => pair(launch.us, time)],
    ["moved", launch => Math.max(launch.bytes[0] || 0, launch.bytes[1] || 0), launch => pair(launch.bytes, bytes)],
    ["launch", launch => launch.name, launch => make("span", {}, launch.name,
      make("span", { class: "faint" }, became(launch)))],
    ["your lines", launch => launch.lines.join(", "), launch => places(launch.lines)],
  ], { identify: launch => `g${id}-c${graph.launches.indexOf(launch)}`,
    open: launch => showChange(launch, `g${id}-c${graph.launches.indexOf(launch)}`),
    label: `launches that differ in graph ${id}` });
}

function showChange(launch, id) {
  const sides = ["before", "after"].map((side, n) => make("div", {}, make("h3", {}, side),
    code(launch.ir[n] || (launch.us[n] === null ? "none" : "no IR, or the same"))));
  openDetail(id, launch.name, make("p", {}, places(launch.lines)), make("div", { class: "beside" }, ...sides));
}

function comparedGraph(graph, id) {
  const whose = graph.before ? graph.after ? "" : ", which is gone" : ", which is new";
  const head = make("h2", {}, `graph ${id}: ${graph.name}${whose}`);
  if (!graph.launches.length && !graph.remarks.length && !whose)
    return make("section", { id: `g${id}` }, head, make("p", {}, "Its launches and remarks do not differ."));
  return make("section", { id: `g${id}` }, head, sumsTable(graph, `sums of graph ${id}`),
    make("h3", {}, `Launches that differ; ${count(graph.same, "other does", "others do")} not`),
    graph.launches.length ? changedTable(graph, id) : make("p", {}, "None."),
    make("h3", {}, "Remarks that one of the two alone has"),
    graph.remarks.length ? table(graph.remarks, [
      ["change", remark => remark.change, remark => remark.change],
      ["remark", remark => remark.text, remark => remark.text],
    ], { label: `remarks of graph ${id}` }) : make("p", {}, "None."));
}

function showComparison(names, graphs) {
  const all = side => graphs.reduce((sums, graph) => {
    for (const [, name] of SUMS) sums[name] = (sums[name] || 0) + (graph[side] ? graph[side][name] : 0);
    sums.peak = Math.max(sums.most || 0, graph[side] ? graph[side].peak : 0);
    sums.most = sums.peak;
    return sums;
  }, {});
  document.querySelector("h1").textContent = "What differs between two reports";
  main.replaceChildren(
    make("p", {}, make("b", {}, "before: "), names[0], make("br"), make("b", {}, "after: "), names[1]),
    sumsTable({ before: all("before"), after: all("after") }, "all graphs"),
    ...graphs.map(comparedGraph));
}
