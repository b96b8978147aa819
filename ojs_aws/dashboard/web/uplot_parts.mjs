// Leaves out of uPlot what the page's charts do not use: legends, selections, links between charts, dates in its own
// words, and scales other than linear ones. That is a fifth of it, and the page has a budget of bytes.
//
// Each entry is a text of uPlot's module and what stands there instead; the minifier then drops what nobody reaches. The
// build fails where a new version no longer has one of the texts.

import { readFileSync } from "node:fs";

const REPLACED = [
  // What it offers to others.
  [/^\t*\(?(?:uPlot|paths)\.(?:fmtNum|rangeNum|rangeLog|rangeAsinh|orient|pxRatio|sync|addGap|clipGaps|stepped|spline|linear|fmtDate|tzDate|assign|join)\s*=.*$/gm, ""],
  [/^const (?:sign|log2) = .*$/gm, ""],
  // Legends, and the selection by a drag.
  [/const showLegend = legend\.show;/g, "const showLegend = false;"],
  [/\blegend\.live\b/g, "false"],
  [/\bselect\.show\b/g, "false"],
  [/cursorFocus = focus\.prox >= 0/g, "cursorFocus = false"],
  // Scales that are logarithmic, ordinal or custom; charts of two dimensions; times in milliseconds.
  [/\b(?:[a-zA-Z]+\.)?(?:distr|xScaleDistr)\s*==\s*(?:2|3|4|100)(?!\d)/g, "false"],
  [/\bsc\.distr >= 3/g, "false"],
  [/\bmode == 2\b/g, "false"],
  [/\bmode == 1\b/g, "true"],
  [/\bms == 1\b/g, "false"],
  [/^const \[ timeIncrsMs.*$/gm, ""],
  // Names of times: each axis of the page names its own.
  [/timeAxisVals\(_tzDate, timeAxisStamps\(\(.*$/gm, "null;"],
  [/= timeSeriesVal\(_tzDate, timeSeriesStamp\(_timeSeriesStamp, _fmtDate\)\);/g, "= null;"],
  [/isStr\(sv\) \? timeSeriesVal\(_tzDate, timeSeriesStamp\(sv, _fmtDate\)\) : /g, ""],
  [/timeAxisVals\(_tzDate, timeAxisStamps\(av, _fmtDate\)\)/g, "null"],
  [/timeAxisVal\(_tzDate, av\)/g, "null"],
  [/\(opts\.fmtDate \|\| fmtDate\)/g, "null"],
  [/^const (?:days3|months3|NL\w*|yyyy|md|mdyy|aa|hmm|hmmaa|ss) += .*$/gm, ""],
  [/^const engNames = \{[^]*?^\};$/gm, ""],
  [/^const localTz = .*$/gm, ""],
  [/^\tconst _timeAxisStamps = \[[^]*?^\t\];$/gm, ""],
  [/^\t\t_timeAxisStamps,$/gm, "\t\tnull,"],
  // A pointer that moves in several charts at once.
  [/(?:_pub && )?\bpubSync\((?!type).*$/gm, ";"],
  [/^\t+(?:const sync = _sync\(syncKey\)|sync\.(?:sub|unsub)\(self\));$/gm, ""],
  [/^\t\tif \(syncOpts\.filters\.pub\([^]*?;$/gm, ""],
  [/\bsyncKey != null/g, "false"],
];

/** The plugin of the bundler. */
export const uplotParts = {
  name: "uplot-parts",
  setup({ onLoad }) {
    onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => ({ contents: REPLACED.reduce(replaced, readFileSync(path, "utf8")), loader: "js" }));
  },
};

function replaced(text, [wanted, instead]) {
  const found = text.replace(wanted, instead);
  if (found === text) throw new Error(`uPlot has no ${wanted} any more`);
  return found;
}
