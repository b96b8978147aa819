// What the menu says beside its entries: counts and alarms, from answers that a view read anyway, or from two small ones a minute.

import { signal } from "@preact/signals";
import { readIfAllowed } from "./api";
import type { Counts, QueuePace } from "./shapes";

export interface Menu {
  /** Counts by the path of a view. */
  readonly counts: Counts;
  /** Views that a finding is about. */
  readonly alarms: ReadonlySet<string>;
  /** Jobs by state, of all queues. */
  readonly jobs: Counts;
  readonly queues: readonly QueuePace[];
}

interface Overview {
  readonly totals: { readonly jobs: Counts; readonly queues: number; readonly workers_by_state: Counts };
  readonly queues: readonly QueuePace[];
}

interface Found {
  readonly findings: readonly { readonly code: string; readonly severity: string }[];
}

const EVERY_MS = 60_000;
const STATES = ["available", "active", "scheduled", "retryable", "pending", "completed", "discarded", "cancelled"];

/** Views that findings are about; a warning about failures is no alarm of the menu. */
const VIEWS: Readonly<Record<string, string>> = {
  backlog_grows: "queues",
  job_waits: "queues",
  queue_paused: "queues",
  jobs_hang: "workers",
  jobs_run_long: "workers",
  workers_die: "workers",
  workers_silent: "workers",
};

export const menu = signal<Menu>({ counts: {}, alarms: new Set(), jobs: {}, queues: [] });

let readAt = -Infinity;
let isRefused = false;

/** Keep what the overview says for the menu. */
export function noteOverview({ totals, queues }: Overview): void {
  const { jobs } = totals;
  const all = STATES.reduce((sum, state) => sum + (jobs[state] ?? 0), 0);
  const counts = { ...menu.value.counts, jobs: all, "dead-letters": jobs["dead_letter"] ?? 0, queues: totals.queues, workers: totals.workers_by_state["total"] ?? 0 };
  menu.value = { ...menu.value, counts, jobs, queues };
}

/** Keep what was found for the menu. */
export function noteFindings({ findings }: Found): void {
  readAt = Date.now();
  menu.value = { ...menu.value, alarms: new Set(findings.flatMap(({ code }) => VIEWS[code] ?? [])) };
}

/** Keep how many things a view has. */
export function noteCount(view: string, count: number): void {
  if (menu.value.counts[view] !== count) menu.value = { ...menu.value, counts: { ...menu.value.counts, [view]: count } };
}

/** Read what the menu says, at most once a minute, and only if no view did; a credential that may not is not asked again. */
export async function readMenu(): Promise<void> {
  if (isRefused || Date.now() - readAt < EVERY_MS) return;
  readAt = Date.now();
  try {
    const overview = await readIfAllowed<Overview>("admin/overview");
    if (overview) noteOverview(overview);
    const found = overview && (await readIfAllowed<Found>("admin/findings"));
    if (found) noteFindings(found);
    else isRefused = true;
  } catch {
    // The view says what is wrong; the menu keeps what it had.
  }
}
