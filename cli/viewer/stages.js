// The stages at the side, the controls, and the keys.

const KEYS = [
  ["j  k", "next and previous stage"],
  ["[  ]", "previous and next function"],
  ["J  K", "mark the next and previous line of the side used last"],
  ["/", "search the text; Enter or n: next, N: previous"],
  ["p", "filter the passes; Enter looks for the words in all stages"],
  ["u", "fold or unfold unchanged lines"],
  ["x", "exchange the two sides"],
  ["g", "graph functions as drawings or as text"],
  ["t", "light or dark"],
  ["Esc", "forget search and marks"],
  ["click", "a name: all its uses; a line: where it came from and what became of it"],
];

function stagesOf(app) {
  // what can be chosen at the side: {id, name, left, right, note, about, doc, changed}
  const { manifest, func, last } = app, found = [];
  found.push({ id: "source", name: "Source", left: "source", right: "stage:0", note: "as it was read", about: "The file, and the program that was read from it." });
  if (last) found.push({ id: "all", name: "Whole pipeline", left: "stage:0", right: `stage:${last}`, note: time(manifest.passes.reduce((sum, one) => sum + one.seconds, 0)), about: `What all ${last} passes make of the program.` });
  manifest.passes.forEach((pass, at) => {
    if (!at) return;
    const changed = func.stages[at] !== func.stages[at - 1];
    found.push({ id: `pass:${at}`, name: pass.name, doc: pass.doc, left: `stage:${at - 1}`, right: `stage:${at}`, note: time(pass.seconds), changed, pass: true });
  });
  const code = Boolean(Object.keys(func.code).length) || !manifest.compiled || func.problem;
  if (code) {
    found.push({ id: "written", name: "LLVM IR, as written", left: `stage:${last}`, right: "code:written", note: "", about: "The program after the last pass, and the LLVM IR that is written for it." });
    found.push({ id: "optimized", name: "LLVM IR, optimized", left: `stage:${last}`, right: "code:optimized", note: "", about: "The program after the last pass, and what LLVM makes of it." });
    found.push({ id: "assembly", name: "Assembly", left: "code:optimized", right: "code:assembly", note: "", about: "What LLVM made of the program, and the machine code that is run." });
  }
  return found;
}

function time(seconds) {
  for (const [unit, factor] of [["s", 1], ["ms", 1e3], ["µs", 1e6]]) {
    const value = seconds * factor;
    if (value >= 1 || unit === "µs") return `${value >= 10 ? Math.round(value) : value.toFixed(1)} ${unit}`;
  }
}

class Side {
  constructor(app) {
    this.app = app;
    this.element = document.getElementById("stages");
    this.filter = document.getElementById("filter");
    this.opened = new Set(); // folded groups that were opened, by their first stage
    this.counts = new Map(); // how often the filter's words stand in a stage
    this.element.addEventListener("click", (event) => {
      const group = event.target.closest(".group"), stage = event.target.closest(".stage");
      if (group) {
        const id = group.dataset.id;
        if (!this.opened.delete(id)) this.opened.add(id);
        this.draw();
        this.element.querySelector(`.group[data-id="${id}"]`)?.focus();
      } else if (stage) app.open(stage.dataset.id);
    });
    this.filter.addEventListener("input", () => {
      this.counts.clear();
      this.draw();
    });
    this.filter.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.count(this.filter.value);
    });
  }

  async count(words) {
    // look for the words in all stages of the function
    const { app } = this;
    this.counts.clear();
    if (!words) return this.draw();
    const known = new Map();
    for (const stage of stagesOf(app)) {
      const number = app.sectionOf(stage.right);
      if (number === undefined || number === null) continue;
      if (!known.has(number)) {
        const text = lowered((await section(number)).text), wanted = words.toLowerCase();
        let count = 0;
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) count++;
        known.set(number, count);
      }
      this.counts.set(stage.id, known.get(number));
    }
    this.draw();
  }

  draw() {
    const { app } = this, wanted = this.filter.value.toLowerCase(), made = [];
    let folded = [];
    const flush = () => {
      if (!folded.length) return;
      const id = folded[0].id, open = this.opened.has(id) || folded.some((stage) => stage.id === app.stage);
      const group = make("button", "group", `${folded.length} without change`);
      group.dataset.id = id;
      group.setAttribute("aria-expanded", open);
      group.prepend(make("span", "twist", open ? "▾" : "▸"));
      made.push(group);
      if (open) made.push(...folded.map((stage) => this.button(stage)));
      folded = [];
    };
    let section = "";
    for (const stage of stagesOf(app)) {
      const fits = !wanted || `${stage.name} ${stage.doc || ""}`.toLowerCase().includes(wanted) || this.counts.get(stage.id);
      if (!fits) continue;
      const kind = stage.pass ? "Passes" : ["written", "optimized", "assembly"].includes(stage.id) ? "Code" : "Program";
      if (kind !== section) {
        flush();
        made.push(make("h2", "", kind));
        section = kind;
      }
      if (stage.pass && !stage.changed && !wanted) {
        folded.push(stage);
        continue;
      }
      flush();
      made.push(this.button(stage));
    }
    flush();
    if (!made.length) made.push(make("p", "nothing", "No pass fits. Enter looks for the words in the text of every stage."));
    this.element.replaceChildren(...made);
  }

  button(stage) {
    const button = make("button", `stage${stage.pass ? " pass" : ""}${stage.pass && !stage.changed ? " same" : ""}`);
    button.dataset.id = stage.id;
    if (stage.id === this.app.stage) button.setAttribute("aria-current", "true");
    button.append(make("span", "dot"), make("span", "name", stage.name));
    const count = this.counts.get(stage.id);
    button.append(count ? make("span", "count", `${count.toLocaleString()}×`) : make("span", "time", stage.note));
    if (stage.doc) button.title = stage.doc;
    return button;
  }
}

Object.assign(App.prototype, {
  mark() {
    // which stage is shown, if it is one
    const found = stagesOf(this).find((stage) => stage.left === this.views.left && stage.right === this.views.right);
    this.stage = found ? found.id : "";
    this.side.draw();
    this.side.element.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    const about = document.getElementById("about");
    const pass = found && found.pass ? found : null;
    about.replaceChildren(make("h2", "", found ? found.name : `${this.nameOf(this.views.left)} and ${this.nameOf(this.views.right)}`));
    if (found && found.about) about.append(make("p", "", found.about));
    if (pass) {
      const [first, ...more] = pass.doc.split("\n\n");
      about.append(make("p", "", first.replace(/\s+/g, " ").replace(/`([^`]*)`/g, "$1")));
      if (!pass.changed) about.append(make("span", "badge", "no change"));
      if (more.length) {
        const details = make("details");
        details.append(make("summary", "", "example"), make("pre", "", more.join("\n\n")));
        about.append(details);
      }
    }
  },

  hint() {
    // what a click does
    const words = this.isDrawn ? "Click a node to mark its value on both sides and see where else it stands." : "Click a line to see where it came from and what became of it, a name for all its uses.";
    document.getElementById("places").replaceChildren(make("span", "what", words));
  },

  open(id) {
    const stage = stagesOf(this).find((one) => one.id === id);
    if (stage) return this.show(stage.left, stage.right);
  },

  step_stage(by) {
    const shown = [...document.querySelectorAll("#stages .stage")].map((one) => one.dataset.id);
    const at = shown.indexOf(this.stage);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) this.open(next);
  },

  pickFunction(at) {
    this.at = Math.max(0, Math.min(this.manifest.functions.length - 1, at));
    document.getElementById("functions").value = this.at;
    this.side.counts.clear();
    this.chosen = null;
    this.chosenKey = null;
    for (const pane of [this.left, this.right]) this.fillPick(pane);
    const usable = (view) => {
      const number = this.sectionOf(view);
      return number !== undefined && number !== null;
    };
    const views = this.views || { left: "stage:0", right: `stage:${this.last}` };
    return usable(views.left) && usable(views.right) ? this.show(views.left, views.right) : this.show("source", "stage:0");
  },

  fillPick(pane) {
    const option = (view) => new Option(this.nameOf(view), view);
    const stages = make("optgroup"), code = make("optgroup");
    stages.label = "stages";
    stages.append(...this.manifest.passes.map((_, at) => option(`stage:${at}`)));
    code.label = "code";
    code.append(...Object.keys(CODE).map((view) => option(`code:${view}`)));
    pane.pick.replaceChildren(option("source"), stages, code);
  },

  remember() {
    const line = this.origin && this.isLinked(this.left, this.origin.line) ? `&line=${this.origin.line + 1}` : "";
    const text = this.drawings ? "" : "&text=1";
    history.replaceState(null, "", `#f=${this.at}&l=${this.views.left}&r=${this.views.right}${line}${text}`);
  },

  recall() {
    const given = new URLSearchParams(location.hash.slice(1)), known = (view) => [...this.left.pick.options].some((one) => one.value === view);
    const functions = this.manifest.functions, main = functions.findIndex((one) => one.name.split(".").pop() === "main");
    const at = given.has("f") ? Math.trunc(given.get("f")) : main;
    this.at = at > 0 && at < functions.length ? at : 0;
    document.getElementById("functions").value = this.at;
    this.drawings = given.get("text") !== "1";
    const left = given.get("l"), right = given.get("r"), line = +given.get("line");
    if (known(left) && known(right)) return this.show(left, right, line > 0 ? line - 1 : undefined);
    const first = stagesOf(this).find((stage) => stage.pass && stage.changed);
    return first ? this.open(first.id) : this.open("source");
  },
});

function theme(next) {
  // light, dark, or as the system says
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  let chosen = null;
  try {
    chosen = localStorage.getItem("tirscript-theme");
    if (next) {
      chosen = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
      localStorage.setItem("tirscript-theme", chosen);
    }
  } catch {
    if (next) chosen = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.getElementById("theme").textContent = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "☀" : "☾";
}

function connect(app) {
  const by = (id) => document.getElementById(id);
  by("panes").append(app.left.element, app.right.element);
  for (const pane of [app.left, app.right]) {
    pane.pick.addEventListener("change", () => app.show(app.left.pick.value, app.right.pick.value));
    // what a reader does in a pane makes it the one whose lines keys mark; `reveal` scrolling it does not
    for (const name of ["pointerdown", "wheel", "focusin"]) pane.element.addEventListener(name, () => (app.active = pane), { passive: true });
    pane.body.addEventListener("click", (event) => {
      if (pane.picture) {
        const node = event.target.closest("[data-node]");
        if (node) app.pickNode(pane, +node.dataset.node);
        return;
      }
      const fold = event.target.closest(".fold"), row = event.target.closest("[data-line]");
      if (fold) return app.openFold(+fold.dataset.row);
      if (!row || !pane.listing || String(getSelection())) return;
      if (event.target.closest(".code span")) app.choose(pane, event.target);
      app.link(pane, +row.dataset.line);
    });
    pane.scroller.addEventListener("wheel", (event) => {
      if (!pane.picture || !event.ctrlKey) return;
      event.preventDefault();
      pane.zoomBy(event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
    pane.body.addEventListener("mousemove", (event) => pane.listing && !pane.picture && app.tell(pane, event.target, event.clientX, event.clientY));
    pane.body.addEventListener("mouseleave", () => (by("tip").hidden = true));
    pane.scroller.addEventListener("scroll", () => (by("tip").hidden = true));
  }
  by("places").addEventListener("click", (event) => {
    const view = event.target.closest("button")?.dataset.view;
    if (view) app.go(view);
  });
  by("functions").addEventListener("change", (event) => app.pickFunction(+event.target.value));
  let waiting;
  by("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => app.search(), 120);
  });
  by("query").addEventListener("keydown", (event) => event.key === "Enter" && (app.step(event.shiftKey ? -1 : 1), event.preventDefault()));
  by("find").addEventListener("submit", (event) => event.preventDefault());
  by("previous").addEventListener("click", () => app.step(-1));
  by("next").addEventListener("click", () => app.step(1));
  by("drawn").addEventListener("click", () => app.toggleDrawings());
  by("theme").addEventListener("click", () => (theme(true), app.left.rule(), app.right.rule()));
  by("help").addEventListener("click", () => by("keys").showModal());
  by("keys").append(make("h2", "", "Keys"), ...KEYS.map(([keys, what]) => {
    const line = make("p");
    line.append(make("kbd", "", keys), make("span", "", what));
    return line;
  }));
  by("keys").addEventListener("click", () => by("keys").close());
  addEventListener("resize", () => (app.left.render(true), app.right.render(true)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (theme(false), app.left.rule(), app.right.rule()));
  addEventListener("keydown", (event) => key(app, event));
}

function key(app, event) {
  const by = (id) => document.getElementById(id), typing = event.target.matches("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (by("keys").open) return;
    by("query").value = "";
    app.side.filter.value = "";
    app.side.counts.clear();
    app.chosen = null;
    app.chosenKey = null;
    app.linked = { left: new Set(), right: new Set() };
    app.side.draw();
    app.search(false);
    document.activeElement.blur();
    return;
  }
  if (typing) return;
  const actions = {
    j: () => app.step_stage(1),
    k: () => app.step_stage(-1),
    J: () => app.stepLine(1),
    K: () => app.stepLine(-1),
    "[": () => app.pickFunction(app.at - 1),
    "]": () => app.pickFunction(app.at + 1),
    "/": () => by("query").select(),
    n: () => app.step(1),
    N: () => app.step(-1),
    p: () => app.side.filter.select(),
    u: () => app.toggleFolds(),
    x: () => app.show(app.views.right, app.views.left),
    g: () => !by("drawn").hidden && app.toggleDrawings(),
    t: () => by("theme").click(),
    "?": () => by("keys").showModal(),
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

async function start() {
  theme(false);
  const manifest = await section(FIRST), app = new App(manifest);
  window.viewer = app;
  document.getElementById("file").textContent = manifest.file;
  const functions = document.getElementById("functions");
  functions.append(...manifest.functions.map((func, at) => new Option(func.name, at)));
  document.getElementById("functions-label").hidden = manifest.functions.length < 2;
  app.side = new Side(app);
  connect(app);
  for (const pane of [app.left, app.right]) app.fillPick(pane);
  await app.recall();
  document.body.dataset.ready = "true";
}

start();
