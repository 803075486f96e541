// One tip that follows the pointer.

import { h, replace } from "./dom.js";

const tip = h("div", { id: "tip", role: "tooltip", hidden: true });

export function showTip(event, lines) {
  if (!tip.isConnected) document.body.append(tip);
  replace(tip, lines.map((line, i) => h(i === 0 ? "strong" : "div", {}, line)));
  tip.hidden = false;
  const margin = 12;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.min(event.clientX + margin, innerWidth - width - margin);
  const below = event.clientY + margin + height < innerHeight;
  tip.style.left = `${Math.max(margin, left)}px`;
  tip.style.top = `${below ? event.clientY + margin : Math.max(margin, event.clientY - margin - height)}px`;
}

export function hideTip() {
  tip.hidden = true;
}

addEventListener("scroll", hideTip, { passive: true });
