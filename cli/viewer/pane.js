// A text with many lines, of which only those in sight are in the page.

const ROW = 20; // the height of a line in pixels, as style.css has it
const BEYOND = 30; // lines above and below what is in sight
const LONGEST = 5000; // characters of a line that are shown
const TALLEST = 12e6; // no browser takes elements of any height

class Listing {
  // what a section holds: text, names and where they stand, and where lines came from
  constructor(data, language) {
    this.text = data.text;
    this.language = language;
    this.lines = data.text.split("\n");
    if (this.lines.length > 1 && !this.lines[this.lines.length - 1]) this.lines.pop();
    this.source = data.source;
    this.ir = data.ir;
    this.drawing = data.drawing;
    this.symbols = (data.symbols || []).map(([name, kind, type, facts]) => ({ name, kind, type, facts }));
    this.open = language === "python" ? openStrings(this.text, this.lines) : new Map();
    this.widest = this.lines.reduce((most, line) => Math.max(most, line.length), 0);
    const places = data.places || [];
    this.starts = new Float64Array(places.length / 3);
    this.lengths = new Int32Array(places.length / 3);
    this.numbers = new Int32Array(places.length / 3);
    for (let at = 0, last = 0; at < this.starts.length; at++) {
      this.starts[at] = last += places[3 * at];
      this.lengths[at] = places[3 * at + 1];
      this.numbers[at] = places[3 * at + 2];
    }
    this.begins = new Float64Array(this.lines.length + 1);
    this.lines.forEach((line, at) => (this.begins[at + 1] = this.begins[at] + line.length + 1));
    const count = new Map();
    for (const symbol of this.symbols) {
      // what stands for one thing in several listings: the name, and how many of that name come before
      const number = count.get(symbol.name) || 0;
      count.set(symbol.name, number + 1);
      symbol.key = `${symbol.name}#${number}`;
      symbol.alone = number === 0;
    }
    for (const symbol of this.symbols) if (count.get(symbol.name) > 1) symbol.alone = false;
  }

  names(line) {
    // [start, end, symbol, whether it is defined there] of a line
    const found = [], begin = this.begins[line], end = this.begins[line + 1];
    let low = 0, high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] < begin) low = middle + 1;
      else high = middle;
    }
    for (; low < this.starts.length && this.starts[low] < end; low++) {
      const start = this.starts[low] - begin;
      found.push([start, start + this.lengths[low], this.numbers[low] >> 1, this.numbers[low] & 1]);
    }
    return found;
  }

  uses(symbol) {
    // how often a symbol stands in the text, where it is defined, and where else
    if (symbol.uses) return symbol.uses;
    const index = this.symbols.indexOf(symbol), found = [];
    let defined = 0;
    for (let at = 0; at < this.numbers.length; at++) {
      if (this.numbers[at] >> 1 !== index) continue;
      found.push(this.starts[at]);
      defined += this.numbers[at] & 1;
    }
    return (symbol.uses = { places: found, defined });
  }

  lineAt(offset) {
    let low = 0, high = this.lines.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.begins[middle] <= offset) low = middle;
      else high = middle;
    }
    return low;
  }
}

class Pane {
  constructor(side, app) {
    this.side = side;
    this.app = app;
    this.listing = null;
    this.rows = null; // line numbers of the rows; null where every line is a row
    this.top = 0;
    this.element = make("article", `pane ${side}`);
    const head = make("header");
    this.title = make("span", "title");
    this.pick = make("select");
    this.pick.setAttribute("aria-label", `what is shown ${side}`);
    this.note = make("span", "note");
    this.zooms = make("span", "zooms");
    for (const [sign, step, title] of [["−", -1, "smaller (ctrl and wheel)"], ["+", 1, "larger (ctrl and wheel)"]]) {
      const button = make("button", "", sign);
      button.title = title;
      button.setAttribute("aria-label", title);
      button.addEventListener("click", () => this.zoomBy(step));
      this.zooms.append(button);
    }
    head.append(this.pick, this.note, this.zooms);
    this.scroller = make("div", "scroller");
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("aria-label", `text ${side}`);
    this.space = make("div", "space");
    this.body = make("div", "rows");
    this.space.append(this.body);
    this.scroller.append(this.space);
    this.ruler = make("canvas", "ruler");
    this.element.append(head, this.scroller, this.ruler);
    this.scroller.addEventListener("scroll", () => this.app.scrolled(this));
    this.ruler.addEventListener("click", (event) => {
      const one = Math.min(ROW, this.ruler.clientHeight / Math.max(this.count, 1));
      this.scroller.scrollTop = (event.offsetY / one) * ROW * this.scale - this.scroller.clientHeight / 2;
    });
  }

  get count() {
    return this.rows ? this.rows.length : this.listing ? this.listing.lines.length : 0;
  }

  show(listing, rows) {
    // a listing, by rows that are {left, right, kind} or {fold} as the app made them, or all its lines
    this.listing = listing;
    this.rows = rows;
    const height = this.count * ROW;
    this.index = null;
    this.scale = height > TALLEST ? TALLEST / height : 1;
    this.space.style.height = `${Math.min(height, TALLEST) + ROW}px`;
    this.space.style.minWidth = `calc(${Math.min(listing.widest, LONGEST + 40) + 10}ch + 40px)`;
    this.digits = String(listing.lines.length).length;
    this.render(true);
  }

  message(text) {
    // instead of a listing
    this.listing = null;
    this.rows = null;
    this.space.style.height = "";
    this.space.style.minWidth = "";
    this.body.style.transform = "";
    this.body.replaceChildren(make("pre", "message", text));
    this.drawn = null;
  }

  get firstRow() {
    return Math.floor(this.scroller.scrollTop / this.scale / ROW);
  }

  render(again) {
    if (!this.listing) return;
    if (this.picture) return again && this.paint();
    const first = Math.max(0, this.firstRow - BEYOND);
    const seen = Math.ceil((this.scroller.clientHeight || 800) / ROW);
    const last = Math.min(this.count, this.firstRow + seen + BEYOND);
    if (!again && this.drawn && this.drawn[0] <= Math.max(0, this.firstRow - 5) && this.drawn[1] >= Math.min(this.count, this.firstRow + seen + 5)) return;
    this.drawn = this.scale === 1 ? [first, last] : null;
    const made = [];
    for (let row = first; row < last; row++) made.push(this.row(row));
    const top = this.scale === 1 ? first * ROW : this.scroller.scrollTop - (this.firstRow - first) * ROW;
    this.body.style.transform = `translateY(${top}px)`;
    this.body.replaceChildren(...made);
    if (again) this.rule();
  }

  row(at) {
    const row = this.rows ? this.rows[at] : { kind: SAME };
    if (row.fold) {
      const fold = make("button", "fold", `${row.fold.length.toLocaleString()} unchanged lines`);
      fold.dataset.row = at;
      fold.title = "show them";
      return fold;
    }
    const line = this.rows ? row[this.side] : at;
    const element = make("div", `row ${KINDS[row.kind]}`);
    if (line < 0) {
      element.classList.add("filler");
      return element;
    }
    element.dataset.line = line;
    if (this.app.isLinked(this, line)) element.classList.add("linked");
    const gutter = make("span", "gutter", String(line + 1).padStart(this.digits));
    const code = make("span", "code");
    this.fill(code, line, row);
    element.append(gutter, code);
    return element;
  }

  fill(code, line, row) {
    // the words of a line, each in a span with its classes
    const { listing } = this, whole = listing.lines[line], text = whole.slice(0, LONGEST);
    const cuts = new Set([0, text.length]);
    const layers = [];
    const layer = (ranges, apply) => {
      for (const range of ranges) {
        cuts.add(range[0]).add(range[1]);
        layers.push([range, apply]);
      }
    };
    layer(wordsOf(text, listing.language, listing.open.get(line)), (span, range) => span.classList.add(range[2]));
    layer(listing.names(line), (span, [, , number, defined]) => {
      const symbol = listing.symbols[number];
      span.classList.add("symbol");
      if (defined) span.classList.add("definition");
      span.dataset.symbol = number;
      if (this.app.chosen && this.app.chosen.key === symbol.key) span.classList.add("chosen");
    });
    if (row.kind === CHANGED) layer(this.app.wordMarks(row)[this.side === "left" ? 0 : 1], (span) => span.classList.add("marked"));
    layer(this.app.hitsOn(this, line), (span, range) => span.classList.add("hit", ...(range[2] ? ["current"] : [])));
    const order = [...cuts].filter((at) => at <= text.length).sort((a, b) => a - b);
    layers.sort((a, b) => a[0][0] - b[0][0]);
    let open = [], next = 0;
    for (let at = 0; at + 1 < order.length; at++) {
      const start = order[at], end = order[at + 1];
      while (next < layers.length && layers[next][0][0] <= start) open.push(layers[next++]);
      open = open.filter(([range]) => range[1] > start);
      const piece = text.slice(start, end);
      if (!open.length) {
        code.append(piece);
        continue;
      }
      const span = make("span", "", piece);
      for (const [range, apply] of open) apply(span, range);
      if (this.app.chosen && !this.app.chosen.symbol && this.app.chosen.word === piece && !span.dataset.symbol) span.classList.add("chosen");
      code.append(span);
    }
    if (text.length < whole.length) code.append(make("span", "note", ` … ${(whole.length - text.length).toLocaleString()} more characters`));
  }

  rowOf(line) {
    // the row of a line; -1 where it is folded away
    if (!this.rows) return line;
    if (!this.index) {
      this.index = new Int32Array(this.listing.lines.length).fill(-1);
      this.rows.forEach((row, at) => {
        if (!row.fold && row[this.side] >= 0) this.index[row[this.side]] = at;
      });
    }
    return this.index[line];
  }

  reveal(line, always) {
    // scroll so that a line is in sight
    if (!this.listing || this.picture) return;
    let row = this.rowOf(line);
    if (row < 0) {
      this.app.unfold(this.side, line);
      row = this.rowOf(line);
    }
    const top = row * ROW * this.scale, { scrollTop, clientHeight } = this.scroller;
    if (always || top < scrollTop + ROW || top > scrollTop + clientHeight - 3 * ROW) {
      this.scroller.scrollTop = Math.max(0, top - clientHeight / 3);
    }
    this.render(true);
  }

  rule() {
    // the strip beside the text: what is changed, chosen, linked and found
    if (this.picture) return;
    const { ruler } = this, height = Math.max(1, ruler.clientHeight), sharp = devicePixelRatio || 1;
    ruler.width = 10 * sharp;
    ruler.height = height * sharp;
    const pen = ruler.getContext("2d");
    pen.scale(sharp, sharp);
    const one = Math.min(ROW, height / Math.max(this.count, 1));
    const mark = (row, color, width = 6) => {
      pen.fillStyle = color;
      pen.fillRect(9 - width, Math.floor(row * one) + 1, width, Math.max(2, Math.floor(one) - 2));
    };
    if (this.rows) {
      const colors = { [CHANGED]: color("changed"), [REMOVED]: color("removed"), [ADDED]: color("added") };
      let last = -1;
      this.rows.forEach((row, at) => {
        const y = Math.floor(at * one);
        if (!row.fold && colors[row.kind] && y !== last) mark(at, colors[row.kind]), (last = y);
      });
    }
    for (const [lines, name] of [[this.app.linkedLines(this), "linked"], [this.app.hitLines(this), "hit"]]) {
      for (const line of lines) {
        const row = this.rowOf(line);
        if (row >= 0) mark(row, color(name), 4);
      }
    }
  }
}

function color(name) {
  // a color of the style sheet as canvases take it
  const probe = document.getElementById("probe");
  probe.style.color = `var(--rule-${name})`;
  return getComputedStyle(probe).color;
}

const KINDS = ["same", "moved", "changed", "removed", "added"];

function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}
