// The page over a store: which subject is shown, whether the server is there, and new models as they come.

import { h, replace, select } from "./dom.js";
import { Going } from "./going.js";
import { state } from "./state.js";

const SHORTEST_PAUSE_MS = 1000;
const RETRY_MS = 3000;
/** Of the time, making a view of a new model may take one part in so many. */
const SHARE = 4;

/** The place of the cursor in `root`, as steps from child to child. */
function placeOfFocus(root) {
  const steps = [];
  for (let node = document.activeElement; node !== root; node = node.parentElement) {
    if (!node?.parentElement) return null;
    steps.unshift([...node.parentElement.children].indexOf(node));
  }
  return { steps, tag: document.activeElement.tagName };
}

function focusAt(root, place) {
  const found = place?.steps.reduce((node, step) => node?.children[step], root);
  if (found && found !== root && found.tagName === place.tag) found.focus({ preventScroll: true });
}

/** Does `draw` and leaves the reader where they were. */
export function inPlace(root, draw) {
  const [place, x, y] = [placeOfFocus(root), scrollX, scrollY];
  const height = root.offsetHeight;
  root.style.minHeight = `${height}px`;
  draw();
  focusAt(root, place);
  scrollTo(x, y);
  requestAnimationFrame(() => requestAnimationFrame(() => { root.style.minHeight = ""; }));
}

/** Follows the store for `show(model, text)`, with what to say where there is no model; {element, start()}. */
export class Follower {
  constructor(source, show) {
    this.source = source;
    this.show = show;
    this.subjects = [];
    this.problem = "";
    this.connected = true;
    this.answered = true;
    this.updated = null;
    this.choice = h("div.choices", {});
    this.status = h("p.status", { role: "status" });
    this.notice = h("p.notice", { role: "alert", hidden: true });
    this.going = new Going();
    this.element = h("div.live", {}, this.notice, h("div.row", {}, this.choice, this.status), this.going.element);
    this.shown = undefined;
    this.busy = false;
    this.again = false;
  }

  get subject() {
    const asked = state.get("subject");
    return this.subjects.some(({ id }) => id === asked) ? asked : this.subjects[0]?.id;
  }

  async start() {
    await this.refresh();
    this.source.listen({
      connected: (is) => {
        this.connected = is;
        this.tell();
        // What was told meanwhile may not be told again.
        if (is) this.refresh();
      },
      problem: ({ text }) => {
        this.problem = text;
        this.tell();
      },
      store: () => this.refresh(),
      live: (data) => this.going.update(data),
    });
  }

  /** Shows what the store has now; of calls that come while it is busy the last one counts. */
  async refresh() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.again) {
        this.again = false;
        const start = performance.now();
        await this.fetch();
        const pause = Math.max(SHORTEST_PAUSE_MS, SHARE * (performance.now() - start));
        if (this.again) await new Promise((resolve) => { setTimeout(resolve, pause); });
      }
    } finally {
      this.busy = false;
    }
  }

  async fetch() {
    clearTimeout(this.retry);
    let model = null;
    let text = "Nothing has been measured yet.";
    try {
      this.subjects = await this.source.subjects();
      this.asked = this.subject;
      model = this.subject ? await this.source.model(this.subject) : null;
      this.problem = "";
      this.answered = true;
      this.updated = new Date();
    } catch (error) {
      // What fetch() itself throws: nobody answered.
      this.answered = !(error instanceof TypeError);
      if (this.answered) this.problem = error.message;
      this.retry = setTimeout(() => this.refresh(), RETRY_MS);
      model = this.shown ?? null;
      text = "The store cannot be read now.";
    }
    if (model !== this.shown) this.show(model, text);
    this.shown = model;
    this.drawChoice();
    this.tell();
  }

  drawChoice() {
    const options = this.subjects.map(({ id, title, kind, newest }) => [id, kind === "space" ? title : `${title}, last ${newest.slice(0, 16).replace("T", " ")}`]);
    const key = JSON.stringify([options, this.subject]);
    if (key === this.drawn) return;
    this.drawn = key;
    replace(this.choice, options.length > 1 && select("shown", options, this.subject, (value) => state.set({ subject: value })),
      this.subject && h("span.exports", {}, "as ", this.source.exports(this.subject).map(([form, href], i) => [i ? ", " : "", h("a", { href, download: "" }, form)]).flat()));
  }

  tell() {
    const isThere = this.connected && this.answered;
    const text = !isThere ? "The server does not answer: what is shown is what it said last. If it was started again, open the link that it printed." : this.problem;
    this.notice.hidden = !text;
    if (this.notice.textContent !== text) this.notice.textContent = text;
    const at = this.updated?.toTimeString().slice(0, 8) ?? "";
    this.status.textContent = !isThere ? "not connected" : this.problem ? "waiting for the store" : `live, as of ${at}`;
    this.status.className = `status ${isThere && !this.problem ? "on" : "off"}`;
  }
}
