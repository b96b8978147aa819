// Draws a workflow: a box for each job, and a line from each to those that wait for it. The table says the same.

import { link } from "../address";
import { type PlacedNode, placed, type GraphNode } from "../graph";
import { signOf } from "../parts";
import { between } from "../times";

const WIDTH = 180;
const HEIGHT = 52;
const GAP_X = 60;
const GAP_Y = 18;
const MARGIN = 6;
const MOST_LETTERS = 22;
/** More boxes than these say less than the table. */
const MOST = 200;

export function WorkflowGraph({ nodes }: { nodes: readonly GraphNode[] }) {
  if (nodes.length > MOST) return <p class="quiet">{nodes.length} steps are too many to draw; the table has them.</p>;
  const boxes = placed(nodes);
  const byPath = new Map(boxes.map((box) => [box.path, box]));
  const columns = Math.max(0, ...boxes.map((box) => box.column)) + 1;
  const rows = Math.max(0, ...boxes.map((box) => box.row)) + 1;
  const width = columns * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN;
  return (
    <div class="scroll" role="region" aria-label="Graph of the steps; the table below has the same" tabIndex={0}>
      <svg class="graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {boxes.flatMap((box) => box.after.map((path) => byPath.get(path)).map((from) => from && <path key={`${from.path} ${box.path}`} d={line(from, box)} />))}
        {boxes.map((box) => <Box key={box.path} box={box} />)}
      </svg>
    </div>
  );
}

function Box({ box }: { box: PlacedNode }) {
  const { step } = box;
  const took = between(step.started_at, step.completed_at);
  const drawn = (
    <g class={`state-${step.state}`}>
      <title>{`${box.path}: ${step.state}`}</title>
      <rect x={left(box)} y={top(box)} width={WIDTH} height={HEIGHT} rx="6" />
      <text class="name" x={left(box) + 10} y={top(box) + 21}>{shortened(box.path)}</text>
      <text class="small" x={left(box) + 10} y={top(box) + 41}>{`${signOf(step.state)} ${step.state}${took && `, ${took}`}`}</text>
    </g>
  );
  return step.job_id ? <a href={link(["jobs", step.job_id])} tabindex={-1}>{drawn}</a> : drawn;
}

function line(from: PlacedNode, to: PlacedNode): string {
  const [x, y] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
  const [toX, toY] = [left(to), top(to) + HEIGHT / 2];
  return `M${x} ${y}C${x + GAP_X / 2} ${y} ${toX - GAP_X / 2} ${toY} ${toX} ${toY}`;
}

function left(box: PlacedNode): number {
  return MARGIN + box.column * (WIDTH + GAP_X);
}

function top(box: PlacedNode): number {
  return MARGIN + box.row * (HEIGHT + GAP_Y);
}

function shortened(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}
