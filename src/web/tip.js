// One tip that follows the pointer.

import { render } from "preact";
import { h } from "./dom.js";

const MARGIN = 12;
const tip = Object.assign(document.createElement("div"),
  { id: "tip", role: "tooltip", ariaLive: "polite", hidden: true });

/** Without `lines` there is nothing to show. */
export function showTip({ clientX, clientY }, lines) {
  if (!lines) return hideTip();
  if (!tip.isConnected) document.body.append(tip);
  render(lines.map((line, i) => h(i === 0 ? "strong" : "div", {}, line)), tip);
  tip.hidden = false;
  const left = Math.min(clientX + MARGIN, innerWidth - tip.offsetWidth - MARGIN);
  const isBelow = clientY + MARGIN + tip.offsetHeight < innerHeight;
  const top = isBelow ? clientY + MARGIN : clientY - MARGIN - tip.offsetHeight;
  Object.assign(tip.style, { left: `${Math.max(MARGIN, left)}px`, top: `${Math.max(MARGIN, top)}px` });
}

export function hideTip() {
  tip.hidden = true;
}

addEventListener("scroll", hideTip, { passive: true });
