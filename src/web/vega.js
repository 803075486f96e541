// What draws charts: as large as all else ten times over, so that it is made ready when the first one is drawn.

export { Error as ErrorLevel, logger, parse, View } from "vega";
export { expressionInterpreter } from "vega-interpreter";
export { compile } from "vega-lite";
