// A table that sorts by a click on a head, and whose rows the arrow keys walk.
// columns: [title, value that sorts, cell]; identify: the id of a row; open: what Enter or a click on a row does
function table(rows, columns, { identify, open, label } = {}) {
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr", { tabindex: body.children.length ? -1 : 0 });
    if (identify) line.id = identify(row);
    if (open) line.dataset.opens = "";
    for (const [, value, cell] of columns)
      line.append(make("td", typeof value(row) === "number" ? { class: "n" } : {}, cell(row)));
    if (open) line.onclick = event => { if (!event.target.closest("a")) open(row); };
    line.row = row;
    body.append(line);
  }
  // one row of the table is in the order of Tab: that which had the focus last
  body.addEventListener("focusin", event => {
    for (const line of body.querySelectorAll("tr[tabindex='0']")) line.tabIndex = -1;
    event.target.closest("tr").tabIndex = 0;
  });
  body.onkeydown = event => {
    const line = event.target.closest("tr");
    const next = {
      ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling,
      Home: body.firstElementChild, End: body.lastElementChild,
    }[event.key];
    if (next) next.focus();
    const opens = event.key === "Enter" && open && event.target === line;
    if (opens) open(line.row);
    if (next || opens) event.preventDefault();
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
  const attributes = label ? { "aria-label": label } : {};
  return make("div", { class: "scroll" }, make("table", attributes, make("thead", {}, heads), body));
}
