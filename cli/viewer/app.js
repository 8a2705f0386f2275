// The page: stages at the side, two panes, and what connects them.

const CONTEXT = 4; // unchanged lines that stay around a change
const MOST_HITS = 20000;
const CODE = { written: "LLVM IR, as written", optimized: "LLVM IR, optimized", assembly: "assembly" };

const sections = new Map();

function section(number) {
  // the value of a section, unpacked when it is first asked for; the last few are kept
  let found = sections.get(number);
  if (!found) {
    found = unpack(document.getElementById(`s${number}`).textContent);
    if (sections.size > 12) sections.delete(sections.keys().next().value);
  } else sections.delete(number);
  sections.set(number, found);
  return found;
}

async function unpack(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function lowered(text) {
  // in lower case, as long as places stay the same
  const made = text.toLowerCase();
  return made.length === text.length ? made : text.replace(/[A-Z]/g, (char) => char.toLowerCase());
}

const listings = new Map();

async function listingOf(number, language) {
  let found = listings.get(number);
  if (!found) {
    found = new Listing(await section(number), language);
    if (listings.size > 12) listings.delete(listings.keys().next().value);
    listings.set(number, found);
  }
  return found;
}

class App {
  constructor(manifest) {
    this.manifest = manifest;
    this.at = 0; // which function
    this.chosen = null; // {key, symbol, word}: the name whose uses are marked
    this.linked = { left: new Set(), right: new Set() };
    this.hits = [];
    this.hit = -1;
    this.unfolded = false;
    this.drawings = true; // whether graph functions are drawn
    this.chosenKey = null; // the value of a drawing that is marked
    this.left = new Pane("left", this);
    this.right = new Pane("right", this);
    this.active = this.right;
  }

  get func() {
    return this.manifest.functions[this.at];
  }

  get last() {
    return this.manifest.passes.length - 1;
  }

  // --- views: "source", "stage:3", "code:assembly"

  sectionOf(view) {
    const [kind, what] = view.split(":");
    if (kind === "source") return this.manifest.source;
    if (kind === "stage") return this.func.stages[+what];
    return this.func.code[what];
  }

  languageOf(view) {
    return view === "code:assembly" ? "assembly" : view.startsWith("code") ? "llvm" : "python";
  }

  nameOf(view) {
    const [kind, what] = view.split(":");
    if (kind === "source") return this.manifest.file;
    if (kind === "code") return CODE[what];
    if (!+what) return "IR as it was read";
    const { name } = this.manifest.passes[what];
    const nth = this.manifest.passes.slice(0, +what + 1).filter((pass) => pass.name === name).length;
    const often = this.manifest.passes.filter((pass) => pass.name === name).length > 1;
    return `after ${name}${often ? ` (${nth})` : ""}`;
  }

  async load(view) {
    const number = this.sectionOf(view);
    return number === undefined || number === null ? null : listingOf(number, this.languageOf(view));
  }

  isLarge(view) {
    // whether unpacking a text only to count its lines takes too long
    const number = this.sectionOf(view);
    return number !== undefined && number !== null && !listings.has(number) && document.getElementById(`s${number}`).textContent.length > 2e5;
  }

  why(view) {
    // what is said where there is no such listing
    if (view.startsWith("stage")) return `${this.func.name} is not there at this stage.`;
    if (!this.manifest.compiled) return "The page was made without native code (--no-native).";
    return this.func.problem || `${this.func.name} has no code of its own: LLVM put it into its callers.`;
  }

  async show(left, right, line) {
    const turn = (this.turn = (this.turn || 0) + 1);
    this.views = { left, right };
    document.getElementById("tip").hidden = true;
    this.unfolded = false;
    this.linked = { left: new Set(), right: new Set() };
    this.mark();
    document.body.classList.add("loading");
    const [a, b] = await Promise.all([this.load(left), this.load(right)]);
    if (turn !== this.turn) return;
    document.body.classList.remove("loading");
    this.compared = a && b && left.startsWith("stage") && right.startsWith("stage") ? diffLines(a.lines, b.lines, [a.source, b.source]) : null;
    this.words = new Map();
    this.place(a, b);
    for (const pane of [this.left, this.right]) {
      pane.scroller.scrollTop = 0;
      if (!pane.picture) pane.scroller.scrollLeft = 0;
    }
    this.hint();
    this.search(false);
    if (this.compared) this.toFirstChange();
    else if (line !== undefined) await this.link(this.left, line);
    else if (left === "source" && b) await this.beginOf(b);
    this.remember();
  }

  async beginOf(listing) {
    // show the function in the source
    const first = listing.source && listing.source.find((line) => line > 0);
    if (first) this.left.reveal(first - 1, true);
  }

  place(a, b) {
    const both = this.drawings && ((a && a.drawing) || (b && b.drawing));
    const rows = this.compared && !both ? this.rowsOf(this.compared) : null;
    document.getElementById("drawn").hidden = !((a && a.drawing) || (b && b.drawing));
    document.getElementById("drawn").textContent = this.drawings ? "text" : "drawing";
    [this.left.listing, this.right.listing] = [a, b];
    for (const [pane, listing] of [[this.left, a], [this.right, b]]) {
      pane.pick.value = this.views[pane.side];
      const other = pane === this.left ? b : a, drawn = this.drawings && listing && listing.drawing;
      pane.picture = null;
      pane.element.classList.toggle("compared", Boolean(rows) && !drawn);
      pane.element.classList.toggle("drawn", Boolean(drawn));
      if (drawn) pane.draw(listing.drawing, this.compared && other ? other.drawing : null);
      else if (listing) pane.show(listing, rows);
      else pane.message(this.why(this.views[pane.side]));
      const lines = listing ? `${listing.lines.length.toLocaleString()} line${listing.lines.length === 1 ? "" : "s"}` : "";
      pane.note.textContent = lines;
    }
    if (rows) {
      const count = [0, 0, 0, 0, 0];
      for (const kind of this.compared.kind) count[kind]++;
      this.left.note.textContent += count[REMOVED] + count[CHANGED] ? ` · −${count[REMOVED] + count[CHANGED]}` : "";
      this.right.note.textContent += count[ADDED] + count[CHANGED] ? ` · +${count[ADDED] + count[CHANGED]}` : "";
    }
  }

  rowsOf({ left, right, kind }) {
    // the rows of a comparison, long unchanged stretches folded
    const rows = left.map((line, at) => ({ left: line, right: right[at], kind: kind[at] }));
    if (this.unfolded) return rows;
    const made = [];
    const changes = kind.some((one) => one > MOVED);
    for (let at = 0; at < rows.length; ) {
      let end = at;
      while (end < rows.length && kind[end] <= MOVED) end++;
      const before = at === 0 ? 0 : CONTEXT, after = end === rows.length ? 0 : CONTEXT;
      if (changes && end - at > before + after + 5) {
        made.push(...rows.slice(at, at + before));
        made.push({ fold: rows.slice(at + before, end - after), kind: SAME });
        for (let k = end - after; k < end; k++) made.push(rows[k]);
      } else for (let k = at; k < end; k++) made.push(rows[k]);
      for (at = end; at < rows.length && kind[at] > MOVED; at++) made.push(rows[at]);
    }
    return made;
  }

  unfold(side, line) {
    // open the fold that a line is in
    const at = this.left.rows ? this.left.rows.findIndex((row) => row.fold && row.fold.some((one) => one[side] === line)) : -1;
    if (at >= 0) this.openFold(at);
  }

  openFold(at) {
    const rows = [...this.left.rows.slice(0, at), ...this.left.rows[at].fold, ...this.left.rows.slice(at + 1)];
    const top = this.left.scroller.scrollTop;
    this.left.show(this.left.listing, rows);
    this.right.show(this.right.listing, rows);
    this.left.scroller.scrollTop = this.right.scroller.scrollTop = top;
  }

  toggleFolds() {
    if (!this.compared || this.isDrawn) return;
    this.unfolded = !this.unfolded;
    this.place(this.left.listing, this.right.listing);
  }

  toFirstChange() {
    if (!this.left.rows) return;
    const at = this.left.rows.findIndex((row) => row.kind > MOVED);
    if (at > 12) this.left.scroller.scrollTop = this.right.scroller.scrollTop = (at - 8) * ROW * this.left.scale;
  }

  wordMarks(row) {
    // what differs in two lines that stand beside each other
    let found = this.words.get(row);
    if (!found) {
      const [a, b] = [this.left.listing.lines[row.left], this.right.listing.lines[row.right]];
      this.words.set(row, (found = diffWords(a.slice(0, LONGEST), b.slice(0, LONGEST))));
    }
    return found;
  }

  scrolled(pane) {
    const other = pane === this.left ? this.right : this.left;
    if (this.left.rows && Math.abs(other.scroller.scrollTop - pane.scroller.scrollTop) > 1) other.scroller.scrollTop = pane.scroller.scrollTop;
    requestAnimationFrame(() => pane.render(false));
  }

  // --- names

  choose(pane, target) {
    const number = target.closest("[data-symbol]")?.dataset.symbol;
    const symbol = number === undefined ? null : pane.listing.symbols[number];
    const word = target.closest(".code span")?.textContent;
    const key = symbol ? symbol.key : this.keyOf(word);
    const same = this.chosen && (key ? this.chosen.key === key : this.chosen.word === word);
    const plain = !symbol && !/^[%@.]?[\w.$]{1,80}:?$/.test(word || "");
    this.chosen = same || plain ? null : { key, symbol: Boolean(key), word: word };
    this.left.render(true);
    this.right.render(true);
  }

  keyOf(word) {
    // a name of the source, where it can be one thing only
    const side = [this.left, this.right].find((pane) => pane.listing && pane.listing.symbols.length);
    const symbol = side && side.listing.symbols.find((one) => one.name === word && one.alone);
    return symbol ? symbol.key : null;
  }

  tell(pane, target, x, y) {
    // what is known of the name under the pointer
    const tip = document.getElementById("tip"), at = target.closest("[data-symbol]");
    let listing = pane.listing, symbol = at && listing.symbols[at.dataset.symbol];
    if (!symbol && this.views[pane.side] === "source") {
      const other = pane === this.left ? this.right : this.left;
      const key = this.keyOf(target.closest(".code span")?.textContent);
      listing = other.listing;
      symbol = key && listing && listing.symbols.find((one) => one.key === key);
    }
    if (!symbol) {
      tip.hidden = true;
      return;
    }
    const head = make("div", "head");
    head.append(make("b", "", symbol.name), make("code", "", symbol.type));
    const { places, defined } = listing.uses(symbol), uses = places.length - defined;
    const list = make("ul");
    for (const fact of symbol.facts) list.append(make("li", "", fact));
    tip.replaceChildren(head, make("div", "kind", `${symbol.kind} · ${uses} use${uses === 1 ? "" : "s"}`), ...(symbol.facts.length ? [list] : []));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 20 + box.height > innerHeight ? y - box.height - 12 : y + 20}px`;
  }

  // --- lines of one text that belong to lines of another

  async final() {
    return this.load(`stage:${this.last}`);
  }

  async originOf(view, listing, line) {
    // where a line came from: lines of the source, and lines (from 1) of the last stage
    const final = await this.final();
    if (view === "source") {
      const ir = new Set();
      final?.source.forEach((one, at) => one === line + 1 && ir.add(at + 1));
      return { source: new Set([line + 1]), ir };
    }
    if (view.startsWith("code")) {
      const at = listing.ir[line];
      return { source: new Set(at && final ? [final.source[at - 1]] : []), ir: new Set(at ? [at] : []) };
    }
    const source = new Set(listing.source[line] ? [listing.source[line]] : []), ir = new Set();
    if (view === `stage:${this.last}`) ir.add(line + 1);
    else final?.source.forEach((one, at) => source.has(one) && ir.add(at + 1));
    return { source, ir };
  }

  linesOf(view, listing, origin) {
    // the lines of a listing that have an origin
    const found = [];
    origin.source.delete(0);
    if (view === "source") return [...origin.source].map((line) => line - 1);
    if (view.startsWith("code")) listing.ir.forEach((one, at) => one && origin.ir.has(one) && found.push(at));
    else if (view === `stage:${this.last}` && origin.ir.size) return [...origin.ir].map((line) => line - 1);
    else listing.source.forEach((one, at) => one && origin.source.has(one) && found.push(at));
    return found;
  }

  async link(pane, line, scroll = true) {
    // mark a line, and what belongs to it in the other pane
    const other = pane === this.left ? this.right : this.left;
    const origin = await this.originOf(this.views[pane.side], pane.listing, line);
    this.origin = { ...origin, view: this.views[pane.side], line };
    this.linked[pane.side] = new Set([line]);
    this.linked[other.side] = new Set(other.listing ? this.linesOf(this.views[other.side], other.listing, origin) : []);
    pane.render(true);
    other.render(true);
    const [first] = this.linked[other.side];
    if (scroll && first !== undefined && !this.compared) other.reveal(first, false);
    await this.placesOf(origin, pane);
    this.remember();
  }

  async placesOf(origin, pane) {
    // the line below the panes: the places of the marked line, to go there
    const foot = document.getElementById("places");
    const add = (name, view, lines) => {
      const many = !lines ? "…" : lines.length === 1 ? `line ${(lines[0] + 1).toLocaleString()}` : lines.length ? `${lines.length.toLocaleString()} lines` : "–";
      const button = make("button");
      button.append(make("b", "", name), many);
      button.dataset.view = view;
      button.disabled = lines !== null && !lines.length;
      return button;
    };
    const made = [make("span", "what", `line ${this.origin.line + 1} of ${this.nameOf(this.origin.view)}`), make("span", "arrow", "→")];
    const views = ["source", "stage:0", `stage:${this.last}`, ...Object.keys(this.func.code).map((view) => `code:${view}`)];
    for (const view of new Set(views)) {
      const large = this.isLarge(view);
      const listing = large ? null : await this.load(view);
      const name = view === "source" ? "source" : view === "stage:0" ? "IR as read" : view.startsWith("stage") ? "IR at the end" : this.nameOf(view);
      made.push(add(name, view, listing ? this.linesOf(view, listing, origin) : large ? null : []));
    }
    if (made.every((one) => one.tagName !== "BUTTON" || one.disabled)) {
      made.length = 1;
      made.push(make("span", "", "· came from no statement alone: a line of its surroundings, or code that LLVM made for several"));
    }
    foot.replaceChildren(...made);
    foot.dataset.side = pane.side;
  }

  async go(view) {
    // show what belongs to the marked line in another view, beside the line's own
    const { origin } = this;
    if (!origin) return;
    const from = origin.view, line = origin.line;
    await this.show(from, view === from ? this.views.right : view);
    if (this.compared) this.left.reveal(line, true);
    await this.link(this.left, line);
    this.left.reveal(line, false);
  }

  async stepLine(by) {
    // mark the next or previous line of the pane that was used last
    const pane = this.active, [now] = this.linked[pane.side];
    if (!pane.listing) return;
    const line = now === undefined ? pane.firstRow : now + by;
    if (line < 0 || line >= pane.listing.lines.length) return;
    await this.link(pane, line);
    pane.reveal(line, false);
  }

  isLinked(pane, line) {
    return this.linked[pane.side].has(line);
  }

  linkedLines(pane) {
    return this.linked[pane.side];
  }

  // --- search

  search(move = true) {
    const query = document.getElementById("query").value;
    this.hits = [];
    this.byLine = { left: new Map(), right: new Map() };
    this.hit = -1;
    if (query) {
      const fold = query === query.toLowerCase();
      for (const pane of [this.left, this.right]) {
        if (!pane.listing) continue;
        if (pane.picture) {
          this.hits.push(...pane.listing.nodesWith(query, fold).map((node) => ({ pane, node })));
          continue;
        }
        const { listing } = pane, text = fold ? (listing.lower ??= lowered(listing.text)) : listing.text;
        for (let at = text.indexOf(query); at >= 0 && this.hits.length < MOST_HITS; at = text.indexOf(query, at + query.length)) {
          const line = listing.lineAt(at), start = at - listing.begins[line];
          const hit = { pane, line, start, end: start + query.length };
          this.hits.push(hit);
          const known = this.byLine[pane.side].get(line);
          if (known) known.push(hit);
          else this.byLine[pane.side].set(line, [hit]);
        }
      }
    }
    this.left.render(true);
    this.right.render(true);
    if (move && this.hits.length) this.step(1);
    else this.showHits();
  }

  step(by) {
    if (!this.hits.length) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    const { pane, line, node } = this.hits[this.hit];
    if (pane.picture) pane.revealNode(node), pane.paint();
    else pane.reveal(line, false);
    (pane === this.left ? this.right : this.left).render(true);
    this.showHits();
  }

  showHits() {
    const query = document.getElementById("query").value;
    const more = this.hits.length >= MOST_HITS ? "+" : "";
    document.getElementById("hits").textContent = !query ? "" : this.hits.length ? `${this.hit + 1} of ${this.hits.length.toLocaleString()}${more}` : "none";
  }

  hitsOn(pane, line) {
    const current = this.hits[this.hit];
    return (this.byLine?.[pane.side].get(line) || []).map((hit) => [hit.start, hit.end, hit === current]);
  }

  hitLines(pane) {
    return this.byLine ? [...this.byLine[pane.side].keys()].slice(0, 2000) : [];
  }
}
