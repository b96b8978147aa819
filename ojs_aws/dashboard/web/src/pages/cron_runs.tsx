// The last runs of a cron job as small marks, the newest at the right.

import { useEffect, useState } from "preact/hooks";
import { readIfAnswered } from "../api";
import { exactTime, zone } from "../times";

export interface Run {
  readonly scheduled_at: string;
  readonly state: string;
  readonly job_id?: string;
  readonly reason?: string;
  readonly started_at?: string;
  readonly completed_at?: string;
}

export type Runs = Readonly<Record<string, readonly Run[]>>;

const SHOWN = 12;
/** A list may be long, and each takes a request. */
const MOST_READ = 25;
const EVERY_MS = 600_000;

/** Read the last runs of cron jobs after their list is there, one after the other, and again every ten minutes. */
export function useRuns(names: readonly string[]): Runs {
  const [runs, show] = useState<Runs>({});
  useEffect(() => {
    let isGone = false;
    const readAll = async (): Promise<void> => {
      for (const name of names.slice(0, MOST_READ)) {
        if (isGone || document.visibilityState === "hidden") return;
        const found = await readIfAnswered<{ executions: readonly Run[] }>(`cron/${encodeURIComponent(name)}/history?limit=${SHOWN}`);
        if (found && !isGone) show((before) => ({ ...before, [name]: found.executions }));
      }
    };
    const begin = (): void => void readAll().catch(() => undefined); // the view was left
    begin();
    const timer = setInterval(begin, EVERY_MS);
    return () => {
      isGone = true;
      clearInterval(timer);
    };
  }, [names.join()]);
  return runs;
}

const SKIPPED = "M1 6h6";
const FAILED = "m1 3 6 6m0-6-6 6";

export function LastRuns({ runs }: { runs: readonly Run[] | undefined }) {
  const shown = [...(runs ?? [])].slice(0, SHOWN).reverse();
  if (shown.length === 0) return <>–</>;
  const words = shown.map((run) => `${exactTime(run.scheduled_at, zone.value)}: ${run.state}`);
  return (
    <svg class="runs" width={SHOWN * 9} height="12" role="img" aria-label={`The last runs, the oldest first: ${words.join("; ")}`}>
      {shown.map(({ state, scheduled_at: at }, index) => {
        const isMark = ["skipped", "discarded", "cancelled"].includes(state);
        return (
          <g key={`${at} ${index}`} class={`st-${state === "skipped" ? "cancelled" : state === "deleted" ? "note" : state}`} transform={`translate(${(SHOWN - shown.length + index) * 9})`}>
            <title>{words[index]}</title>
            {isMark ? <path d={state === "skipped" ? SKIPPED : FAILED} /> : <rect x="1" width="6" height="12" rx="1" />}
          </g>
        );
      })}
    </svg>
  );
}
