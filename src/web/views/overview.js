// What was found, what trades one target against another, and what became of every point of the space.

import { charts } from "../chart.js";
import { h, piece } from "../dom.js";

export const Overview = ({ page }) =>
  h("div.view", {}, page.report.model.page.overview.map(piece), charts(page, "overview"));
