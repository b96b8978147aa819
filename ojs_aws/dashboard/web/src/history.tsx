// What was done in the last hours: charts from the counts that each minute leaves behind anyway.

import { useState } from "preact/hooks";
import { Chart } from "./chart";
import { Card } from "./parts";
import { type Counts, type Period } from "./shapes";
import { serverNow } from "./times";

/** A range of time, the periods that it is divided into, and how much seldomer it is read than an hour: each costs the same. */
export const RANGES = [
  { name: "1 h", hours: 1, period: "1m", times: 1 },
  { name: "6 h", hours: 6, period: "5m", times: 6 },
  { name: "24 h", hours: 24, period: "5m", times: 24 },
] as const;

export type Range = (typeof RANGES)[number];

/** What was done in each period; by how many jobs each queue grew in it. */
export interface History {
  readonly data: readonly Period[];
  readonly growth?: Readonly<Record<string, readonly number[]>>;
}

/** Return the address of the history of a range, of one queue, or of all with the growth of each. */
export function historyPath(range: Range, queue = ""): string {
  const since = new Date(Math.floor(serverNow() / 60_000) * 60_000 - range.hours * 3_600_000).toISOString();
  return `admin/stats/history?period=${range.period}${range.hours > 1 ? `&since_time=${since}` : ""}${queue ? `&queue=${encodeURIComponent(queue)}` : "&growth=true"}`;
}

/** Counts follow the jobs within seconds. */
const COUNTED_AFTER_MS = 10_000;

const UNFINISHED = ["available", "active", "scheduled", "retryable", "pending"] as const;

/** Return how many jobs had not ended at the end of each period, from how many have not now. */
export function backlogOf(growth: readonly number[], counts: Counts): number[] {
  let left = UNFINISHED.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const found: number[] = [];
  for (const more of [...growth].reverse()) {
    found.unshift(Math.max(0, left));
    left -= more;
  }
  return found;
}

export function RangeSwitch({ range, choose }: { range: Range; choose: (range: Range) => void }) {
  return (
    <div class="segments" role="group" aria-label="Shown time">
      {RANGES.map((each) => <button key={each.name} type="button" class="small" aria-pressed={each === range} onClick={() => choose(each)}>{each.name}</button>)}
    </div>
  );
}

interface ChartsOptions {
  readonly periods: readonly Period[];
  readonly counts: Counts;
  readonly range: Range;
  readonly choose: (range: Range) => void;
}

/** What came in, what ended and failed; and how many jobs had not ended. */
export function HistoryCharts({ periods, counts, range, choose }: ChartsOptions) {
  const perMinute = range.period === "1m" ? 1 : 5;
  const times = periods.map((each) => Date.parse(each.timestamp));
  // Of the present period, and of one that has just ended, not all is counted yet: its rates would look like a fall.
  const whole = periods.slice(0, -1).filter((_, index) => (times[index] ?? 0) + perMinute * 60_000 + COUNTED_AFTER_MS <= serverNow());
  const rate = (count: (period: Period) => number): number[] => whole.map((each) => Math.round((count(each) / perMinute) * 10) / 10);
  return (
    <div class="columns">
      <Card title="Throughput" note="jobs a minute" tools={<RangeSwitch range={range} choose={choose} />}>
        <Chart
          label={`Throughput, ${range.name}`}
          times={times.slice(0, whole.length)}
          series={[
            { label: "Enqueued", look: "available", kind: "dash", values: rate((each) => each.enqueued) },
            { label: "Completed", look: "completed", kind: "line", values: rate((each) => each.completed) },
            { label: "Failed", look: "discarded", kind: "bars", values: rate((each) => each.failed + each.retried) },
          ]}
        />
      </Card>
      <Card title="Backlog" note="jobs that have not ended">
        <Chart label={`Backlog, ${range.name}`} times={times} series={[{ label: "Backlog", look: "available", kind: "area", values: backlogOf(periods.map((each) => each.enqueued - each.completed - each.failed - each.cancelled), counts) }]} />
      </Card>
    </div>
  );
}

/** The range that somebody chose, for as long as the view is open. */
export function useRange(): readonly [Range, (range: Range) => void] {
  return useState<Range>(RANGES[0]);
}
