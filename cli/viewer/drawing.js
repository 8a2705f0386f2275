// Graph functions as drawings: boxes with operators, what they give below them, edges to what takes it.

const SVG = document.getElementById("svg").namespaceURI;
const MARGIN = 24, LABEL_LINE = 17, DETAIL_LINE = 15, HEAD = 21; // pixels, as graphs.py has them
const ZOOMS = [0.1, 0.15, 0.25, 0.4, 0.55, 0.7, 0.85, 1, 1.25, 1.6, 2];

function shape(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function changesOf(drawing, other) {
  // what became of each node: "removed" or "added" where the other side has no such value, "changed" where it is made otherwise
  if (!other) return drawing.nodes.map(() => "");
  const known = new Map(other.nodes.filter((node) => node.key >= 0 && node.kind !== "reference").map((node) => [node.key, node]));
  const told = (node) => JSON.stringify([node.kind, node.title, node.details, node.label]);
  return drawing.nodes.map((node) => {
    if (node.key < 0) return "";
    const twin = known.get(node.key);
    if (!twin) return "alone";
    return node.kind === "reference" || told(twin) === told(node) ? "" : "changed";
  });
}

class Picture {
  // one drawing in a pane
  constructor(drawing, changes, side) {
    this.drawing = drawing;
    this.width = drawing.width + 2 * MARGIN;
    this.height = drawing.height + 2 * MARGIN;
    this.element = shape("svg", { class: "drawing", viewBox: `${-MARGIN} ${-MARGIN} ${this.width} ${this.height}`, role: "img" });
    this.element.setAttribute("aria-label", `drawing ${side}`);
    const edges = shape("g", { class: "edges" }), nodes = shape("g", {});
    this.edges = drawing.edges.map((edge) => edges.appendChild(this.edge(edge)));
    this.nodes = drawing.nodes.map((node, at) => nodes.appendChild(this.node(node, at, changes[at], side)));
    this.element.append(edges, nodes);
  }

  bottom(node) {
    return node.y + node.h + LABEL_LINE * node.label.length;
  }

  edge(edge) {
    // a curve from below the label of a node, through its bends, to the top of another
    const { nodes } = this.drawing, start = nodes[edge.from], stop = nodes[edge.to];
    const points = [[start.x, this.bottom(start)], ...edge.path, [stop.x, stop.y]];
    let path = `M${points[0]}`;
    for (let at = 1; at < points.length; at++) {
      const [x, y] = points[at - 1], [u, v] = points[at], middle = (y + v) / 2;
      path += `C${x},${middle} ${u},${middle} ${u},${v}`;
    }
    const group = shape("g", { class: "edge", "data-key": start.key });
    group.append(shape("path", { d: path }), shape("path", { class: "head", d: `M${stop.x - 4},${stop.y - 6}L${stop.x},${stop.y}L${stop.x + 4},${stop.y - 6}Z` }));
    if (edge.role) group.append(shape("text", { class: "role", x: stop.x + 8, y: stop.y - 8 }, edge.role));
    return group;
  }

  node(node, at, change, side) {
    const kind = change === "alone" ? (side === "left" ? "removed" : "added") : change;
    const group = shape("g", { class: `node ${node.kind} ${kind}`, "data-node": at, "data-key": node.key });
    const round = ["input", "output", "reference"].includes(node.kind) ? node.h / 2 : 6;
    group.append(shape("rect", { x: node.x - node.w / 2, y: node.y, width: node.w, height: node.h, rx: round }));
    let y = node.y + HEAD;
    group.append(shape("text", { class: "title", x: node.x, y }, node.title));
    const small = [...(node.name ? [["name", node.name]] : []), ...node.details.map((line) => ["detail", line])];
    for (const [style, line] of small) group.append(shape("text", { class: style, x: node.x, y: (y += DETAIL_LINE) }, line));
    if (node.label.length && this.drawing.edges.some((edge) => edge.from === at)) {
      const below = node.y + node.h;
      group.append(shape("path", { class: "stem", d: `M${node.x},${below}V${below + LABEL_LINE * node.label.length}` }));
      const widest = Math.max(...node.label.map((line) => line.length)) * 6.7 + 8;
      group.append(shape("rect", { class: "behind", x: node.x - widest / 2, y: below + 3, width: widest, height: LABEL_LINE * node.label.length - 4 }));
      node.label.forEach((line, nth) => group.append(shape("text", { class: "label", x: node.x, y: below + 13 + LABEL_LINE * nth }, line)));
    }
    return group;
  }
}

Object.assign(Pane.prototype, {
  draw(drawing, other) {
    // a drawing in place of the text; `other` is that of the other side, with which it is compared
    this.rows = null;
    this.drawn = null;
    this.picture = new Picture(drawing, changesOf(drawing, other), this.side);
    this.body.style.transform = "";
    this.body.replaceChildren(this.picture.element);
    const room = this.scroller.clientWidth || 600;
    this.zoom(Math.max(0.8, Math.min(1, room / this.picture.width)));
    // the middle of what stands at the top
    const top = drawing.nodes.filter((node) => node.y * this.zoomed < this.scroller.clientHeight), sum = top.reduce((total, node) => total + node.x, 0);
    this.scroller.scrollLeft = (sum / Math.max(1, top.length) + MARGIN) * this.zoomed - room / 2;
    this.paint();
  },

  zoom(factor) {
    // as large as that, with the middle of what is in sight where it was
    const { scroller, picture } = this, before = this.zoomed || factor;
    const middle = [scroller.scrollLeft + scroller.clientWidth / 2, scroller.scrollTop + scroller.clientHeight / 2];
    this.zoomed = factor;
    picture.element.setAttribute("width", picture.width * factor);
    picture.element.setAttribute("height", picture.height * factor);
    this.space.style.height = `${picture.height * factor}px`;
    this.space.style.minWidth = `${picture.width * factor}px`;
    scroller.scrollLeft = (middle[0] * factor) / before - scroller.clientWidth / 2;
    scroller.scrollTop = (middle[1] * factor) / before - scroller.clientHeight / 2;
  },

  zoomBy(step) {
    if (!this.picture) return;
    const at = ZOOMS.findIndex((one) => one >= this.zoomed - 1e-6), exact = Math.abs(ZOOMS[at] - this.zoomed) < 1e-6;
    const next = step > 0 && !exact ? at : at + step;
    this.zoom(ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, next))]);
  },

  paint() {
    // the marks of what is chosen and found
    const { picture, app } = this, key = app.chosenKey;
    picture.nodes.forEach((element, at) => {
      element.classList.toggle("picked", key !== null && picture.drawing.nodes[at].key === key);
      const hits = app.hits.filter((hit) => hit.pane === this && hit.node === at);
      element.classList.toggle("found", hits.length > 0);
      element.classList.toggle("current", hits.length > 0 && app.hits[app.hit] === hits[0]);
    });
    const nodes = picture.drawing.nodes;
    picture.drawing.edges.forEach((edge, at) => picture.edges[at].classList.toggle("picked", key !== null && [nodes[edge.from].key, nodes[edge.to].key].includes(key)));
    const pen = this.ruler.getContext("2d");
    pen.clearRect(0, 0, this.ruler.width, this.ruler.height);
  },

  revealNode(at) {
    const node = this.picture.drawing.nodes[at], { scroller, zoomed } = this;
    const x = (node.x + MARGIN) * zoomed, y = (node.y + node.h / 2 + MARGIN) * zoomed;
    const inside = (place, from, size) => place > from + 40 && place < from + size - 40;
    if (!inside(x, scroller.scrollLeft, scroller.clientWidth)) scroller.scrollLeft = x - scroller.clientWidth / 2;
    if (!inside(y, scroller.scrollTop, scroller.clientHeight)) scroller.scrollTop = y - scroller.clientHeight / 2;
  },
});

Object.assign(Listing.prototype, {
  nodesWith(query, fold) {
    // the nodes of the drawing in which words stand
    const has = (text) => (fold ? lowered(text) : text).includes(query);
    return this.drawing.nodes.flatMap((node, at) => ([node.title, node.name, ...node.details, ...node.label].some(has) ? [at] : []));
  },
});

const Drawings = {
  get isDrawn() {
    return Boolean(this.left.picture || this.right.picture);
  },

  pickNode(pane, at) {
    // mark a value on both sides, and tell where else it stands
    const node = pane.picture.drawing.nodes[at], other = pane === this.left ? this.right : this.left;
    const same = this.chosenKey !== null && this.chosenKey === node.key;
    this.chosenKey = same || node.key < 0 ? null : node.key;
    for (const one of [this.left, this.right]) if (one.picture) one.paint();
    if (node.kind === "reference") pane.revealNode(pane.picture.drawing.nodes.findIndex((one) => one.key === node.key && one.kind !== "reference"));
    const twin = other.picture ? other.picture.drawing.nodes.findIndex((one) => one.key === node.key && one.kind !== "reference") : -1;
    if (this.chosenKey !== null && twin >= 0) other.revealNode(twin);
    this.tellNode(pane, node);
  },

  tellNode(pane, node) {
    const made = [make("span", "what", [node.name, node.title].filter(Boolean).join(" = ")), make("span", "arrow", "→")];
    const button = (name, text, go) => {
      const element = make("button");
      element.append(make("b", "", name), text);
      element.addEventListener("click", (event) => (event.stopPropagation(), go()));
      made.push(element);
    };
    const { views } = this, { listing } = pane, line = node.line;
    const called = this.manifest.functions.findIndex((one) => node.calls && (one.name === node.calls || one.name === `${this.func.name.split(".").slice(0, -1).join(".")}.${node.calls}`));
    if (called >= 0) button("function", node.calls, () => this.pickFunction(called));
    if (line >= 0 && listing.source[line]) button("source", `line ${listing.source[line]}`, () => this.show("source", views[pane.side]).then(() => this.left.reveal(listing.source[line] - 1, true)));
    if (line >= 0) button("text", `line ${line + 1}`, () => this.asText(pane, line));
    document.getElementById("places").replaceChildren(...(made.length > 2 ? made : made.slice(0, 1)));
  },

  asText(pane, line) {
    this.toggleDrawings(false);
    pane.reveal(line, true);
    return this.link(pane, line);
  },

  toggleDrawings(wanted = !this.drawings) {
    // graph functions as drawings or as text
    this.drawings = wanted;
    this.place(this.left.listing, this.right.listing);
    this.search(false);
    if (this.compared && !this.isDrawn) this.toFirstChange();
    this.remember();
  },
};
Object.defineProperties(App.prototype, Object.getOwnPropertyDescriptors(Drawings));
