// What the menu says beside its entries: counts and alarms, from answers that a view read anyway, or from two small ones a minute.

import { signal } from "@preact/signals";
import { ViewLeft, readIfAllowed } from "./api";
import type { Counts, Pagination, QueuePace } from "./shapes";

export interface Menu {
  /** Counts by the path of a view. */
  readonly counts: Counts;
  /** Views that a finding is about. */
  readonly alarms: ReadonlySet<string>;
  /** Queues whose jobs wait, and which no worker serves. */
  readonly alarmed: ReadonlySet<string>;
  /** Jobs by state, of all queues. */
  readonly jobs: Counts;
  readonly queues: readonly QueuePace[];
}

interface Overview {
  readonly totals: { readonly jobs: Counts; readonly queues: number; readonly workers_by_state: Counts };
  readonly queues: readonly QueuePace[];
}

interface Found {
  readonly findings: readonly { readonly code: string; readonly severity: string; readonly data: { readonly queues?: readonly string[] } }[];
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

/** The lists that are counted for the menu alone: seldom, and each by an answer of one item. Workflows have no exact total. */
const COUNTED = { cron: "cron", limits: "rate-limits", schemas: "admin/schemas" } as const;
const COUNTED_MS = 300_000;

export const menu = signal<Menu>({ counts: {}, alarms: new Set(), alarmed: new Set(), jobs: {}, queues: [] });

let readAt = -Infinity;
const countedAt: Record<string, number> = {};
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
  const alarmed = findings.flatMap(({ code, data: { queues } }) => (queues && code === "workers_silent" ? queues : []));
  menu.value = { ...menu.value, alarms: new Set(findings.flatMap(({ code }) => VIEWS[code] ?? [])), alarmed: new Set(alarmed) };
}

/** Keep how many things a view has. */
export function noteCount(view: string, count: number): void {
  if (menu.value.counts[view] !== count) menu.value = { ...menu.value, counts: { ...menu.value.counts, [view]: count } };
}

/** Count what the menu names and no view reads, every five minutes. */
async function readCounts(): Promise<void> {
  for (const [view, path] of Object.entries(COUNTED)) {
    if (Date.now() - (countedAt[view] ?? -Infinity) < COUNTED_MS) continue;
    countedAt[view] = Date.now();
    const found = await readIfAllowed<{ pagination: Pagination }>(`${path}?limit=1`).catch((error: unknown) => {
      if (error instanceof ViewLeft) delete countedAt[view]; // the next view counts it
      throw error;
    });
    const total = found?.pagination.total;
    if (total !== undefined) noteCount(view, total);
  }
}

/** Read what the menu says, one request after the other, until the view is left. */
export function readMenu(): Promise<void> {
  // The view says what is wrong; the menu keeps what it had.
  return readFindings().then(readCounts).catch(() => undefined);
}

/** Read counts and alarms at most once a minute, and only if no view did; a credential that may not is not asked again. */
async function readFindings(): Promise<void> {
  if (isRefused || Date.now() - readAt < EVERY_MS) return;
  const before = readAt;
  readAt = Date.now();
  try {
    const overview = await readIfAllowed<Overview>("admin/overview");
    if (overview) noteOverview(overview);
    const found = overview && (await readIfAllowed<Found>("admin/findings"));
    if (found) noteFindings(found);
    else isRefused = true;
  } catch (error) {
    if (error instanceof ViewLeft) readAt = before; // the next view reads them
    throw error;
  }
}
