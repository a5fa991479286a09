// Pictures that zoom, drawn by Bokeh where the page has it.  The tables say the same, for the keyboard.
const COLORS = ["#4c78a8", "#c2690b", "#3f8f3a", "#b279a2", "#cf4446", "#3d918b", "#8f7a1c", "#9d755d", "#d67195"];
const OTHERS = "#888888";

// A plot of rectangles.  boxes: left, right, bottom, top, color, name and about of each; range: of the x axis, which
// plots may share; label: whether wide boxes bear their names; heights: the name of the y axis, "" for room where one
// is in a plot below; open: what a click on a box does.
function plotOf(boxes, range, { height, unit, label, heights, open }) {
  const style = getComputedStyle(document.body), span = range.end - range.start;
  const y_range = new Bokeh.Range1d({
    start: Math.min(0, ...boxes.map(box => box.bottom)), end: boxes.length ? Math.max(0, ...boxes.map(box => box.top)) : 1,
  });
  const columns = ["left", "right", "bottom", "top", "color", "name", "about"];
  const source = new Bokeh.ColumnDataSource({
    data: Object.fromEntries(columns.map(name => [name, boxes.map(box => box[name])])),
  });
  const plot = Bokeh.Plotting.figure({
    height, x_range: range, y_range, x_axis_label: unit, sizing_mode: "stretch_width", tools: "xpan,xwheel_zoom,xbox_zoom,reset",
    toolbar_location: "above", min_border_left: heights === undefined ? 10 : 70, min_border_right: 20, background_fill_color: null, border_fill_color: null, outline_line_color: null,
  });
  plot.toolbar.logo = null;
  const field = name => ({ field: name });
  const drawn = plot.quad({
    left: field("left"), right: field("right"), top: field("top"), bottom: field("bottom"),
    fill_color: field("color"), line_color: { value: style.backgroundColor }, line_width: 0.5, source,
  });
  plot.add_tools(new Bokeh.HoverTool({ renderers: [drawn], tooltips: "<b>@name</b><br>@about" }));
  if (open) {
    plot.add_tools(new Bokeh.TapTool({ renderers: [drawn] }));
    source.selected.properties.indices.change.connect(() => {
      const [first] = source.selected.indices;
      if (first === undefined) return;
      source.selected.indices = [];
      open(boxes[first]);
    });
  }
  if (label) {
    const wide = boxes.filter(box => (box.right - box.left) / span > 0.05);
    const letters = box => Math.floor(130 * (box.right - box.left) / span);
    plot.text({
      x: wide.map(box => box.left), y: wide.map(box => (box.bottom + box.top) / 2),
      text: wide.map(box => box.name.slice(0, letters(box))),
      text_font_size: "11px", text_baseline: "middle", x_offset: 4, text_color: "white",
    });
  }
  for (const axis of [plot.xaxis, plot.yaxis]) {
    axis.axis_label_text_color = axis.major_label_text_color = axis.axis_line_color = style.color;
    axis.major_tick_line_color = style.color;
    axis.minor_tick_line_color = null;
  }
  plot.xgrid.grid_line_color = plot.ygrid.grid_line_color = null;
  plot.yaxis.visible = Boolean(heights);
  if (heights) plot.yaxis.axis_label = heights;
  return plot;
}

const rangeTo = end => new Bokeh.Range1d({ start: 0, end: end || 1, bounds: [0, end || 1] });

// When each launch starts, by the estimates; one that has none takes a little.
function startsOf(graph) {
  let now = 0;
  return graph.launches.map(launch => (now += launch.us || 0.01) - (launch.us || 0.01)).concat(now);
}

function launchBoxes(graph, starts) {
  return graph.launches.map((launch, n) => ({
    left: starts[n], right: starts[n + 1], bottom: 0, top: 1, color: launch.kind === "kernel" ? COLORS[0] : COLORS[1],
    name: launch.name, about: `launch ${n}, ${launch.kind}, ${time(launch.us)}, ${bytes(launch.bytes)}`, launch,
  }));
}

// What is allocated while each launch runs, by owner: those that hold most for longest, then all others.
function memoryBoxes(graph, starts) {
  const own = graph.buffers.filter(buffer => buffer.kind !== "argument");
  const weight = buffer => buffer.bytes * (starts[buffer.last + 1] - starts[buffer.first]);
  const largest = [...own].sort((a, b) => weight(b) - weight(a)).slice(0, COLORS.length);
  const found = [], open = new Map();
  const add = (owner, n, bottom, size, color) => {
    const last = open.get(owner), top = bottom + size / 1e6;
    if (last && last.right === starts[n] && last.bottom === bottom && last.top === top) { last.right = starts[n + 1]; return; }
    const box = { left: starts[n], right: starts[n + 1], bottom, top, color, name: owner, about: bytes(size) };
    open.set(owner, box);
    found.push(box);
  };
  for (const n of graph.launches.keys()) {
    const alive = buffer => buffer.first <= n && n <= buffer.last;
    let base = 0;
    for (const [number, buffer] of largest.entries()) if (alive(buffer)) {
      add(`${buffer.name} (${buffer.kind})`, n, base, buffer.bytes, COLORS[number]);
      base += buffer.bytes / 1e6;
    }
    const rest = sum(own.filter(buffer => alive(buffer) && !largest.includes(buffer)), buffer => buffer.bytes);
    if (rest) add("all others", n, base, rest, OTHERS);
  }
  return found;
}

// A stage above its parts; those of threads that ran side by side are drawn narrower.
function flameBoxes(tree, name, left, width, depth) {
  const parts = Object.entries(tree).filter(([part]) => part !== "seconds");
  const inside = parts.reduce((total, [, part]) => total + part.seconds, 0);
  const scale = inside > 0 ? Math.min(tree.seconds, inside) / inside * (tree.seconds ? width / tree.seconds : 0) : 0;
  const found = [{ left, right: left + width, bottom: -depth - 1, top: -depth, color: COLORS[depth % COLORS.length],
    name, about: time(tree.seconds * 1e6) }];
  for (const [part, inner] of parts.sort((a, b) => b[1].seconds - a[1].seconds)) {
    found.push(...flameBoxes(inner, part, left, inner.seconds * scale, depth + 1));
    left += inner.seconds * scale;
  }
  return found;
}

// A place that is drawn when it comes into sight and the library is there.
const waiting = [];
function picture(label, height, plots) {
  const place = make("div", { class: "picture", role: "img", "aria-label": label, style: `min-height:${height}px` });
  waiting.push({ place, plots });
  return place;
}

function schedulePicture(graph) {
  const drawn = picture(`schedule and memory of graph ${graph.id}; the tables say the same`, 310, () => {
    const starts = startsOf(graph), range = rangeTo(starts[starts.length - 1]);
    return [
      plotOf(launchBoxes(graph, starts), range, { height: 110, label: true, heights: "", open: box => show(graph, box.launch) }),
      plotOf(memoryBoxes(graph, starts), range, { height: 200, unit: "us by estimate", heights: "MB" }),
    ];
  });
  drawn.prepend(make("h3", {}, "The schedule, and what is allocated meanwhile"), make("p", { class: "faint" },
    "Blue: kernels, orange: calls of torch's libraries; a click opens one. Below: buffers by owner, arguments left out. " +
    "Drag to move, choose the lens to zoom by the wheel."));
  return drawn;
}

function flamePicture(graph) {
  return picture(`compile time of graph ${graph.id}; the table says the same`, 170, () => [
    plotOf(flameBoxes(graph.timing, graph.name, 0, graph.timing.seconds, 0), rangeTo(graph.timing.seconds),
      { height: 170, unit: "s", label: true })]);
}

// Loads Bokeh from the page, and draws what comes into sight.  Without it the places are taken out.
async function drawPictures() {
  const parts = [...document.querySelectorAll("script.library")];
  if (!parts.length) { for (const { place } of waiting) place.remove(); return; }
  for (const part of parts) document.head.append(make("script", {}, await unpack(part)));
  Bokeh.logger.set_level("warn");
  const seen = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) {
      seen.unobserve(target);
      const { place, plots } = waiting.find(each => each.place === target);
      Bokeh.Plotting.show(plots(), place);
    }
  }, { rootMargin: "200px" });
  for (const { place } of waiting) seen.observe(place);
}
