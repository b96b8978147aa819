// Draws a workflow: a box for each job, and a line from each to those that wait for it. The table says the same.

import { link } from "../address";
import { type PlacedNode, placed, type GraphNode } from "../graph";
import { shown } from "../bidi";
import { LOOKS } from "../icons";
import type { Failure } from "../shapes";
import { between } from "../times";

const WIDTH = 210;
const HEIGHT = 54;
const ERROR_HEIGHT = 40;
const GAP_X = 80;
const GAP_Y = 22;
const MARGIN = 14;
const MOST_LETTERS = 22;
/** A wider drawing is not made smaller: nobody could read it. */
const WIDEST = 1500;
/** More boxes than these say less than the table. */
const MOST = 200;

export function WorkflowGraph({ nodes, errors }: { nodes: readonly GraphNode[]; errors: Readonly<Record<string, Failure>> }) {
  if (nodes.length > MOST) return <p class="quiet">{nodes.length} steps are too many to draw; the table has them.</p>;
  const boxes = placed(nodes);
  const byPath = new Map(boxes.map((box) => [box.path, box]));
  const columns = Math.max(0, ...boxes.map((box) => box.column)) + 1;
  const rows = Math.max(0, ...boxes.map((box) => box.row)) + 1;
  const extra = Object.keys(errors).length > 0 ? ERROR_HEIGHT : 0;
  const tops = tall(boxes, errors);
  const width = columns * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN + extra * Math.min(rows, Object.keys(errors).length);
  return (
    <div class="scroll" role="region" aria-label="Graph of the steps; the table below has the same" tabIndex={0}>
      <svg class={width > WIDEST ? "graph as-is" : "graph"} width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {boxes.flatMap((box) => box.after.map((path) => byPath.get(path)).map((from) => from && <path key={`${from.path} ${box.path}`} class={box.step.started_at ? "edge" : "edge never"} d={line(from, box, tops)} />))}
        {boxes.filter((box) => box.after.length > 0).map((box) => <polygon key={box.path} class="head" points={arrow(box, tops)} />)}
        {boxes.map((box) => <Box key={box.path} box={box} y={tops.get(box.path) ?? 0} error={errors[box.step.job_id ?? ""]} />)}
      </svg>
    </div>
  );
}

function Box({ box, y, error }: { box: PlacedNode; y: number; error: Failure | undefined }) {
  const { step } = box;
  const state = step.job_state === "discarded" ? "discarded" : step.state;
  const [icon, look] = LOOKS[state] ?? LOOKS["waiting"] ?? ["pending", "pending"];
  const x = left(box);
  const right = x + WIDTH - 12;
  const drawn = (
    <g class={`st-${look}`}>
      <title>{[`${box.path}: ${step.type ?? ""} ${state}`, error && `${error.type}: ${shown(error.message ?? "")}`].filter(Boolean).join("\n")}</title>
      <rect class="box" x={x} y={y} width={WIDTH} height={error ? HEIGHT + ERROR_HEIGHT : HEIGHT} rx="6" />
      {error && <path class="error" d={`M${x + 1} ${y + HEIGHT}h${WIDTH - 2}v${ERROR_HEIGHT - 6}q0 5 -5 5h-${WIDTH - 12}q-5 0 -5 -5z`} />}
      <text class="name" x={x + 12} y={y + 22}>{shortened(step.type ?? box.path)}</text>
      <text class="short" x={right} y={y + 22} text-anchor="end">{step.job_id ? step.job_id.slice(-6) : ""}</text>
      <use href={`#i-${icon}`} x={x + 12} y={y + 31} width="14" height="14" />
      <text class="state" x={x + 31} y={y + 42}>{state.slice(0, 1).toUpperCase() + state.slice(1)}</text>
      <text x={right} y={y + 42} text-anchor="end">{between(step.started_at, step.completed_at) || shortened(box.path)}</text>
      {error && <text class="state" x={x + 12} y={y + HEIGHT + 16}>{shortened(error.type ?? error.code ?? "Error")}</text>}
      {error && <text x={x + 12} y={y + HEIGHT + 32}>{shortened(shown(error.message ?? ""), 30)}</text>}
    </g>
  );
  return step.job_id ? <a href={link(["jobs", step.job_id])} tabindex={-1}>{drawn}</a> : drawn;
}

/** Return where the boxes of each column begin: a box with an error is taller. */
function tall(boxes: readonly PlacedNode[], errors: Readonly<Record<string, Failure>>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const ends = new Map<number, number>();
  for (const box of [...boxes].sort((one, other) => one.row - other.row)) {
    const y = ends.get(box.column) ?? MARGIN;
    found.set(box.path, y);
    ends.set(box.column, y + HEIGHT + GAP_Y + (errors[box.step.job_id ?? ""] ? ERROR_HEIGHT : 0));
  }
  const tallest = Math.max(...ends.values());
  // Short columns stand in the middle.
  for (const box of boxes) found.set(box.path, (found.get(box.path) ?? 0) + (tallest - (ends.get(box.column) ?? 0)) / 2);
  return found;
}

function line(from: PlacedNode, to: PlacedNode, tops: ReadonlyMap<string, number>): string {
  const [x, y] = [left(from) + WIDTH, (tops.get(from.path) ?? 0) + HEIGHT / 2];
  const [toX, toY] = [left(to) - 7, (tops.get(to.path) ?? 0) + HEIGHT / 2];
  return `M${x} ${y}C${x + GAP_X / 2} ${y} ${toX - GAP_X / 2} ${toY} ${toX} ${toY}`;
}

function arrow(box: PlacedNode, tops: ReadonlyMap<string, number>): string {
  const [x, y] = [left(box) - 1, (tops.get(box.path) ?? 0) + HEIGHT / 2];
  return `${x},${y} ${x - 7},${y - 4} ${x - 7},${y + 4}`;
}

function left(box: PlacedNode): number {
  return MARGIN + box.column * (WIDTH + GAP_X);
}

function shortened(text: string, most = MOST_LETTERS): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
