// The next 24 hours of the cron jobs, drawn from the next runs that their list has.

import { Card, counted } from "../parts";
import { clock, now } from "../times";
import type { CronRow } from "./cron";

const WIDTH = 1100;
const LEFT = 150;
const ROW = 22;
const DAY_MS = 86_400_000;
const MOST_ROWS = 12;
const STEP_MS = 3 * 3_600_000;

/** A row for each cron job that runs within a day, with its next run. */
export function NextDay({ rows }: { rows: readonly CronRow[] }) {
  const from = Math.floor(now.value / 60_000) * 60_000;
  const due = rows.flatMap((cron) => {
    const at = Date.parse(cron.next_run_at ?? "");
    return cron.enabled && at - from < DAY_MS && at >= from - 60_000 ? [{ cron, at }] : [];
  }).sort((one, other) => one.at - other.at);
  if (due.length === 0) return null;
  const shown = due.slice(0, MOST_ROWS);
  const height = shown.length * ROW + 34;
  const x = (at: number): number => LEFT + (Math.max(0, at - from) / DAY_MS) * (WIDTH - LEFT - 20);
  const hours = [...Array(8).keys()].map((index) => Math.ceil(from / STEP_MS) * STEP_MS + index * STEP_MS);
  return (
    <Card title="Next 24 hours" note={`the next run of ${counted(due.length, "cron job")}`}>
      <div class="scroll" role="region" aria-label="Next runs as a drawing; the table below has the same" tabIndex={0}>
        <svg class="day st-scheduled" width={WIDTH} height={height} viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
          {hours.map((at) => <g key={at}><line x1={x(at)} x2={x(at)} y1="4" y2={height - 24} /><text x={x(at)} y={height - 8} text-anchor="middle">{clock(at)}</text></g>)}
          <line class="now" x1={LEFT} x2={LEFT} y1="0" y2={height - 24} />
          {shown.map(({ cron, at }, index) => (
            <g key={cron.name}>
              <text x={LEFT - 12} y={index * ROW + 20} text-anchor="end">{cron.name.slice(0, 24)}</text>
              <circle cx={x(at)} cy={index * ROW + 16} r="4"><title>{`${cron.name}: ${clock(at)}`}</title></circle>
              <text x={x(at) + (x(at) > WIDTH - 120 ? -10 : 10)} y={index * ROW + 20} text-anchor={x(at) > WIDTH - 120 ? "end" : "start"}>{clock(at)}</text>
            </g>
          ))}
        </svg>
      </div>
    </Card>
  );
}
