// The next 24 hours of the cron jobs, drawn from the next runs that their list has.

import { Fragment } from "preact";
import { Card, counted } from "../parts";
import { clock, now } from "../times";
import type { CronRow } from "./cron";

const DAY_MS = 86_400_000;
const MOST_ROWS = 12;
const STEP_MS = 3 * 3_600_000;
/** The percentage from which the words of a point stand left of it. */
const LATE = 80;

/** A row for each cron job that runs within a day, with its next run; the table below says the same in words. */
export function NextDay({ rows }: { rows: readonly CronRow[] }) {
  const from = Math.floor(now.value / 60_000) * 60_000;
  const due = rows.flatMap((cron) => {
    const at = Date.parse(cron.next_run_at ?? "");
    return cron.enabled && at - from < DAY_MS && at >= from - 60_000 ? [{ cron, at }] : [];
  }).sort((one, other) => one.at - other.at);
  if (due.length === 0) return null;
  const shown = due.slice(0, MOST_ROWS);
  const x = (at: number): number => Math.round((Math.max(0, at - from) / DAY_MS) * 1000) / 10;
  const ticks = [...Array(8).keys()].map((index) => Math.ceil(from / STEP_MS) * STEP_MS + index * STEP_MS);
  return (
    <Card title="Next 24 hours" note={`the next run of ${counted(due.length, "cron job")}`}>
      <div class="day st-scheduled" aria-hidden="true">
        {shown.map(({ cron, at }) => (
          <Fragment key={cron.name}>
            <span class="cut" title={cron.name}>{cron.name}</span>
            <svg>
              {ticks.map((tick) => <line key={tick} x1={`${x(tick)}%`} x2={`${x(tick)}%`} y1="0" y2="22" />)}
              <line class="now" x1="0" x2="0" y1="0" y2="22" />
              <circle cx={`${x(at)}%`} cy="11" r="4" />
              <text x={`${x(at)}%`} dx={x(at) > LATE ? -10 : 10} y="15" text-anchor={x(at) > LATE ? "end" : "start"}>{clock(at)}</text>
            </svg>
          </Fragment>
        ))}
        <span />
        <svg>{ticks.map((tick, index) => <text key={tick} class={index % 2 ? "minor" : ""} x={`${x(tick)}%`} y="15" text-anchor="middle">{clock(tick)}</text>)}</svg>
      </div>
    </Card>
  );
}
