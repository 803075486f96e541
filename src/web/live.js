// The page over a store: which subject is shown, whether the server is there, and new models as they come.

import { render } from "preact";
import { choose, chosen, h, piece } from "./dom.js";
import { count, moment } from "./format.js";
import { state } from "./state.js";

const SHORTEST_PAUSE_MS = 1000;
const RETRY_MS = 3000;
/** Of the time, making a view of a new model may take one part in so many. */
const SHARE = 4;
const GONE = "The server does not answer: what is shown is what it said last. If it was started again, open the link "
  + "that it printed.";

const LATE = "The server gave no answer in time.";

/** Keeps a page up to date with the store, and says in `host` how that is. */
export class Follower {
  host = Object.assign(document.createElement("div"), { className: "live" });
  subjects = [];
  isConnected = true;
  isAnswered = true;
  live = { count: 0, others: 0, pieces: [] };
  // What the server tells by itself is `told`, `problem` what it said instead of the last answer, and `undrawn` why the
  // page could not show that answer.
  told = "";
  problem = "";
  undrawn = "";

  constructor(source, page) {
    Object.assign(this, { source, page });
    state.listen(() => this.subject !== this.asked && this.refresh());
  }

  /** What the address names, or else what was shown before, however new others are. */
  get subject() {
    return chosen("subject", this.subjects.map(({ id }) => [id]), this.asked);
  }

  async start() {
    this.page.adopt(null, "The store is being read.");
    await this.refresh();
    this.source.listen({
      connected: (is) => {
        this.tell({ isConnected: is });
        // What was told meanwhile may not be told again.
        if (is) this.refresh();
      },
      problem: ({ text }) => this.tell({ told: text }),
      store: () => this.refresh(),
      live: (live) => this.tell({ live }),
    });
  }

  /** Shows what the store has now; of calls that come while it is busy the last one counts. */
  async refresh() {
    this.isDue = true;
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.isDue) {
      this.isDue = false;
      const start = performance.now();
      await this.fetch();
      const pause = Math.max(SHORTEST_PAUSE_MS, SHARE * (performance.now() - start));
      if (this.isDue) await new Promise((resolve) => { setTimeout(resolve, pause); });
    }
    this.isBusy = false;
  }

  async fetch() {
    clearTimeout(this.retry);
    try {
      ({ subjects: this.subjects } = await this.source.ask("subjects"));
      this.asked = this.subject;
      // A link shows the same when others have become newer.
      if (this.subjects.length > 1) state.set({ subject: this.asked });
      const model = this.subject ? await this.source.model(this.subject) : null;
      Object.assign(this, { problem: "", isAnswered: true, updated: new Date() });
      this.draw(model, "Nothing has been measured yet.");
    } catch (error) {
      // What fetch() itself throws: nobody answered.
      this.isAnswered = !(error instanceof TypeError);
      if (this.isAnswered) this.problem = error.name === "TimeoutError" ? LATE : error.message;
      this.retry = setTimeout(() => this.refresh(), RETRY_MS);
      this.draw(this.shown ?? null, "The store cannot be read now.");
    }
    this.tell();
  }

  /** What cannot be drawn is said until another model is drawn, and is not tried again. */
  draw(model, text) {
    if (model === this.shown && (model || text === this.instead)) return;
    Object.assign(this, { shown: model, instead: text, undrawn: "" });
    try {
      this.page.adopt(model, text, this.asked);
    } catch (error) {
      this.undrawn = `What is new in the store cannot be shown (${error.message}).`;
      if (!this.page.report) this.page.adopt(null, "There is nothing to show.");
    }
  }

  tell(changes = {}) {
    Object.assign(this, changes);
    const isThere = this.isConnected && this.isAnswered;
    const waitsFor = this.told || this.problem;
    const [status, notice] = !isThere ? ["not connected", GONE] : waitsFor ? ["waiting for the store", waitsFor]
      : this.undrawn ? ["not up to date", this.undrawn] : ["live", ""];
    render([h("p.notice", { role: "alert", hidden: !notice }, notice),
      h("div.row", {}, this.choice(), h(`p.status.${notice ? "off" : "on"}`, {},
        // What is read aloud is the state: a clock would be at every refresh.
        h("span", { role: "status" }, status),
        !notice && this.updated && `, as of ${this.updated.toTimeString().slice(0, 8)}`)),
      this.going()], this.host);
  }

  /** What explorations do, and how many more there are. */
  going() {
    const { count: shown, others, pieces } = this.live;
    return h("details.going", { open: true, hidden: shown + others === 0 }, h("summary", {}, "Being measured now: ",
      count(shown, "exploration"), others > 0 && ` and ${others} more`), pieces.map(piece));
  }

  choice() {
    const options = this.subjects.map(({ id, title, kind, newest }) =>
      [id, kind === "space" ? title : `${title}, last ${moment(newest.slice(0, 16))}`]);
    const link = ([form, href], i) => [i > 0 && ", ", h("a", { href, download: "" }, form)];
    return h("div.choices", {},
      options.length > 1 && choose("shown", "subject", options, this.subject, { run: "", pick: "" }),
      this.subject && h("span.exports", {}, "as ", this.source.exports(this.subject).map(link)));
  }
}
