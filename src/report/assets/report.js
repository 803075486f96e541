"use strict";
(() => {
  const table = document.getElementById("table");

  // Numbers by value, text by the reader's rules; cells without a value stay last in either direction.
  const compareCells = (a, b, direction) => {
    const empty = (cell) => cell.classList.contains("none");
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const [x, y] = [a.dataset.v, b.dataset.v];
    const order = x !== undefined && y !== undefined
      ? Number(x) - Number(y)
      : a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    return direction * order;
  };

  const sortBy = (heading) => {
    const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heading.parentNode.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const column = heading.cellIndex;
    body.append(...[...body.rows].sort((a, b) => compareCells(a.cells[column], b.cells[column], direction)));
  };

  const makeSortable = () => {
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sortBy(heading));
    }
  };

  const makeFilterable = () => {
    const filter = document.getElementById("filter");
    const outcome = document.getElementById("outcome");
    const rows = [...table.tBodies[0].rows];
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word)) &&
          (outcome.value === "all" || outcome.value === row.dataset.outcome);
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      document.getElementById("shown").textContent = `${shown} of ${rows.length}`;
    };
    filter.addEventListener("input", apply);
    outcome.addEventListener("input", apply);
    document.querySelector(".filters").hidden = false;
    apply();
  };

  // The drawings' own titles serve without a script; with it, a tip that comes at once and also by touch.
  const makeTips = () => {
    const tip = document.createElement("div");
    tip.id = "tip";
    tip.hidden = true;
    document.body.append(tip);
    for (const title of document.querySelectorAll("svg .pt > title")) {
      title.parentNode.dataset.tip = title.textContent;
      title.parentNode.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    const place = (event) => {
      const margin = 8;
      const right = window.innerWidth - tip.offsetWidth - margin;
      const above = event.clientY - tip.offsetHeight - 14;
      tip.style.left = `${Math.max(margin, Math.min(event.clientX + 12, right))}px`;
      tip.style.top = `${above > margin ? above : event.clientY + 18}px`;
    };
    document.addEventListener("pointermove", (event) => {
      const point = event.target.closest?.(".pt");
      tip.hidden = !point;
      if (point) {
        tip.textContent = point.dataset.tip;
        place(event);
      }
    });
    document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  };

  // A configuration lights up in every chart and in the table at once.
  const linkConfigurations = () => {
    let lit = [];
    document.addEventListener("pointerover", (event) => {
      const source = event.target.closest?.("[data-c]");
      for (const element of lit) element.classList.remove("on");
      lit = source ? [...document.querySelectorAll(`[data-c="${source.dataset.c}"]`)] : [];
      for (const element of lit) element.classList.add("on");
    });
  };

  const openTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };

  if (table) {
    makeSortable();
    makeFilterable();
  }
  makeTips();
  linkConfigurations();
  openTarget();
  window.addEventListener("hashchange", openTarget);
})();
