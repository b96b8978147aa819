// Says whether a queue grows: in words, and as a line.

import { type History, backlogOf } from "../history";
import { Icon, type IconName } from "../icons";
import { State } from "../parts";
import { type QueuePace, type Throughput, growth } from "../shapes";
import { Sparkline } from "../sparkline";
import type { Column } from "../table";
import { menu } from "../totals";

/** A change below this is noise: two jobs in five minutes. */
const LEAST = 0.5;

/** Return whether a finding says that nobody takes a queue's jobs. */
export function isStopped({ name }: { readonly name: string }): boolean {
  return menu.value.alarmed.has(name);
}

/** Whether a queue is open, and whether somebody takes its jobs. */
export function QueueState({ queue, name }: { queue: { readonly name: string }; name: string }) {
  return <State name={name === "open" && isStopped(queue) ? "no-worker" : name} />;
}

export function isGrowing({ throughput, counts }: QueuePace): boolean {
  return growth(throughput) >= LEAST && (counts["available"] ?? 0) > 0;
}

/** Return the class of the colour in which a queue's line is drawn. */
function lookOf(queue: QueuePace): string {
  return isStopped(queue) ? "discarded" : isGrowing(queue) ? "retryable" : "available";
}

export function Trend({ rates, waiting }: { rates: Throughput; waiting: number }) {
  const by = growth(rates);
  const pace = Math.abs(by) < 10 ? Math.abs(by) : Math.round(Math.abs(by));
  const [icon, look, text]: readonly [IconName, string, string] =
    by >= LEAST && waiting > 0 ? ["grows", "st-retryable", `grows ${pace}/min`]
      : by <= -LEAST && waiting > 0 ? ["falls", "st-completed", `shrinks ${pace}/min`]
        : ["steady", "", waiting > 0 ? "steady" : "empty"];
  return <span class={`trend ${look}`}><Icon name={icon} />{text}</span>;
}

/** The column that draws how many jobs of each queue had not ended. */
export function backlogColumn<T>(growth: History["growth"], paceOf: (row: T) => QueuePace | undefined, range: string): Column<T> {
  return {
    name: `Backlog, last ${range}`,
    from: 900,
    show: (row) => {
      const pace = paceOf(row);
      const changes = pace && growth?.[pace.name];
      return changes && <Sparkline values={backlogOf(changes, pace.counts)} look={lookOf(pace)} />;
    },
  };
}
