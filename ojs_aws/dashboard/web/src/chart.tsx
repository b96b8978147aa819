// A chart over time (uPlot), with a crosshair, its series named at their ends, and the same numbers as a table.
//
// uPlot sets positions by the script and draws on a canvas, so the page's policy needs no exception for it.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { shortCount } from "./parts";
import { theme } from "./switches";
import { Table } from "./table";
import { clock } from "./times";

export interface Series {
  readonly label: string;
  /** The state whose colour it has. */
  readonly look: string;
  readonly kind: "line" | "dash" | "area" | "bars";
  readonly values: readonly number[];
}

interface ChartOptions {
  readonly label: string;
  /** The beginning of each period, in milliseconds. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

const HEIGHT = 190;
/** Failures have a lane of their own below; its scale does not make a few look like many. */
const LEAST_LANE = 20;
const LEAST = 10;
const LANE = 0.26;

export function Chart({ label, times, series }: ChartOptions) {
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const scheme = useScheme();
  const [hovered, hover] = useState<number | null>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = series.map((each) => each.label).join();
  useEffect(() => {
    const place = box.current;
    if (!place || times.length === 0) return undefined;
    const drawn = new uPlot(optionsOf(place, series, (index, left) => {
      hover(index);
      if (tip.current) tip.current.style.display = index === null ? "none" : "block";
      if (tip.current) tip.current.style.left = `${Math.max(0, left > place.clientWidth / 2 ? left - tip.current.offsetWidth - 8 : left + 64)}px`;
    }), dataOf(times, series), place);
    plot.current = drawn;
    const resized = new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    return () => {
      resized.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [shape, scheme, times.length === 0]);
  useEffect(() => plot.current?.setData(dataOf(times, series)), [times, series]);
  const rows = times.map((at, index) => ({ at, index })).reverse();
  return (
    <>
      <div class="plot" role="img" aria-label={`${label}; the table below has the numbers`} data-points={times.length}>
        {times.length === 0 && <p class="quiet">Nothing is counted yet.</p>}
        <div ref={box} />
        <div ref={tip} class="tip" aria-hidden="true">
          {hovered !== null && times[hovered] !== undefined && (
            <><strong>{clock(times[hovered])}</strong><dl>{series.map((each) => <><dt>{each.label}</dt><dd>{(each.values[hovered] ?? 0).toLocaleString("en")}</dd></>)}</dl></>
          )}
        </div>
      </div>
      <details class="as-table">
        <summary class="quiet">As a table</summary>
        <Table
          label={label}
          rows={rows}
          nameOf={({ at }) => String(at)}
          none="Nothing is counted yet."
          columns={[
            { name: "From", kind: "name", show: ({ at }) => clock(at) },
            ...series.map((each) => ({ name: each.label, isNumber: true, show: ({ index }: { index: number }) => (each.values[index] ?? 0).toLocaleString("en") })),
          ]}
        />
      </details>
    </>
  );
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [times.map((at) => at / 1000), ...series.map((each) => [...each.values])];
}

/** Return the colours that are in force, as a canvas takes them. */
function colours(place: HTMLElement): (look: string, token: string) => string {
  return (look, token) => {
    const probe = document.createElement("span");
    probe.className = look && `st-${look}`;
    probe.style.color = `var(--${token})`;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}

function optionsOf(place: HTMLElement, series: readonly Series[], hover: (index: number | null, left: number) => void): uPlot.Options {
  const colour = colours(place);
  const hasLane = series.some((each) => each.kind === "bars");
  const axis = { stroke: colour("", "ink-3"), font: "11px Inter, system-ui", ticks: { show: false } };
  const grid = { stroke: colour("", "line"), width: 1 };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 76, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 } },
    scales: {
      y: { range: (_, __, most) => [hasLane ? -LANE * nice(most) : 0, nice(most)] },
      lane: { range: (_, __, most) => [0, Math.max(LEAST_LANE, most ?? 0) / (LANE / (1 + LANE)) * 1.2] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 26, values: (_, splits) => splits.map((s) => clock(s * 1000)) },
      {
        ...axis, grid, size: 44, space: 36,
        splits: (_, __, ___, most) => [0, 1, 2, 3].map((part) => (part * most) / 3),
        values: (_, splits) => splits.map((value) => shortCount(Math.round(value))),
      },
    ],
    series: [
      {},
      ...series.map(({ label, look, kind }): uPlot.Series => ({
        label,
        scale: kind === "bars" ? "lane" : "y",
        stroke: colour(look, "g"),
        width: kind === "bars" ? 0 : 1.5,
        points: { show: false },
        ...(kind === "dash" && { dash: [4, 3] }),
        ...(kind === "area" && { fill: colour(look, "t") }),
        ...(kind === "bars" && { fill: colour(look, "g"), paths: uPlot.paths.bars?.({ size: [0.6, 6] }) as uPlot.Series.PathBuilder }),
      })),
    ],
    hooks: {
      setCursor: [(u) => hover(u.cursor.idx ?? null, u.cursor.left ?? 0)],
      draw: [(u) => nameEnds(u, series, (look) => colour(look, "c"))],
    },
  };
}

/** Return a round number that the values fit below. */
function nice(most: number | null): number {
  const wanted = Math.max(LEAST, most ?? 0) * 1.05;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1.2, 1.5, 3, 6, 9].find((factor) => factor * power >= wanted) ?? 12) * power;
}

/** Write the name of each series beside its last point; names that would overlap stand below each other. */
function nameEnds(u: uPlot, series: readonly Series[], colour: (look: string) => string): void {
  const scale = devicePixelRatio;
  const context = u.ctx;
  const ends = series.map((each) => {
    const value = each.values.at(-1) ?? 0;
    const y = each.kind === "bars" ? u.valToPos(0, "lane", true) - 8 * scale : u.valToPos(value, "y", true);
    return { text: each.kind === "area" ? `${shortCount(value)} now` : each.label, look: each.look, y };
  }).sort((one, other) => one.y - other.y);
  context.save();
  context.font = `550 ${11 * scale}px Inter, system-ui`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  let last = -Infinity;
  for (const end of ends) {
    last = Math.max(end.y, last + 13 * scale);
    context.fillStyle = colour(end.look);
    context.fillText(end.text, u.bbox.left + u.bbox.width + 6 * scale, last);
  }
  context.restore();
}

/** Return the colours in use; a change draws the chart again. */
function useScheme(): string {
  const query = useRef(matchMedia("(prefers-color-scheme: dark)")).current;
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const note = (): void => setDark(query.matches);
    query.addEventListener("change", note);
    return () => query.removeEventListener("change", note);
  }, []);
  return `${theme.value} ${isDark}`;
}
