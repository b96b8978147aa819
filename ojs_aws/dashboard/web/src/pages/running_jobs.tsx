// The jobs that are executed now, the longest first, and which of them take much longer than others do.

import { JobLink, QueueLink, State, Time, counted } from "../parts";
import { readIfAllowed } from "../api";
import type { Counts, JobPage, JobRow, Spread } from "../shapes";
import { Table } from "../table";
import { duration, measured, serverNow } from "../times";

interface BusyQueue {
  readonly name: string;
  readonly counts: Counts;
  readonly duration_ms: Spread;
}

export interface Running {
  /** By their start, the first to begin first. */
  readonly jobs: readonly JobRow[];
  /** How long 95 of 100 executions of a queue take, in milliseconds. */
  readonly typical: Readonly<Record<string, number | null>>;
  /** False if not all jobs were looked at. */
  readonly isAll: boolean;
  readonly readAt: number;
}

const QUEUES = 10;
const JOBS = 50;
const EVERY_MS = 20_000;
const SLOW_TIMES = 3;
const SLOW_MS = 5000;

/** Read the active jobs of the queues with the most of them; null where the credential may not. */
export async function readRunning(before: Running | null, isAsked: boolean): Promise<Running | null> {
  if (before && !isAsked && serverNow() - before.readAt < EVERY_MS) return before;
  const overview = await readIfAllowed<{ queues: readonly BusyQueue[]; has_more: boolean }>("admin/overview");
  if (!overview) return null;
  const active = (queue: BusyQueue): number => queue.counts["active"] ?? 0;
  const busy = overview.queues.filter(active).sort((one, other) => active(other) - active(one));
  const typical: Record<string, number | null> = {};
  const jobs: JobRow[] = [];
  let isAll = busy.length <= QUEUES && !overview.has_more;
  for (const { name, duration_ms: times } of busy.slice(0, QUEUES)) {
    const found = await readIfAllowed<JobPage>(`admin/jobs?state=active&limit=${JOBS}&queue=${encodeURIComponent(name)}`);
    jobs.push(...(found?.items ?? []));
    isAll = isAll && found !== null && !found.pagination.has_more;
    typical[name] = times.p95 ?? before?.typical[name] ?? (await readUsual(name))?.p95 ?? null;
  }
  jobs.sort((one, other) => (one.started_at ?? "").localeCompare(other.started_at ?? ""));
  return { jobs, typical, isAll, readAt: serverNow() };
}

/** Read how long executions of a queue took in the last hour in which any ended; null where nobody knows. */
export async function readUsual(queue: string): Promise<Spread | null> {
  const found = await readIfAllowed<{ data: readonly { duration_ms: Spread }[] }>(`admin/stats/history?period=1h&queue=${encodeURIComponent(queue)}`);
  return found?.data.findLast((each) => each.duration_ms.p95 !== null)?.duration_ms ?? null;
}

/** Return for how long a job runs. */
export function runsForMs(job: JobRow): number {
  return Math.max(0, serverNow() - Date.parse(job.started_at ?? ""));
}

/** Return whether a job takes much longer than nearly all of its queue. */
export function isSlow(job: JobRow, typical: Running["typical"]): boolean {
  return isLong(runsForMs(job), typical[job.queue] ?? null);
}

/** Return whether an execution takes much longer than 95 of 100 do. */
export function isLong(ms: number, usualMs: number | null): boolean {
  return usualMs !== null && ms > Math.max(SLOW_MS, SLOW_TIMES * usualMs);
}

export function RunningJobs({ running }: { running: Running }) {
  const { jobs, typical, isAll } = running;
  return (
    <>
      <h2>Jobs that run, the longest first</h2>
      <Table
        label="Jobs that run"
        rows={jobs}
        nameOf={(job) => job.id}
        none="No job runs."
        columns={[
          { name: "Job", show: (job) => <JobLink id={job.id} /> },
          { name: "Type", show: (job) => job.type },
          { name: "Queue", show: (job) => <QueueLink name={job.queue} /> },
          { name: "Runs since", show: (job) => <><Time at={job.started_at} /> {isSlow(job, typical) && <State name="slow" />}</> },
          { name: "95 % take at most", isNumber: true, show: (job) => measured(typical[job.queue]) },
          { name: "Attempt", isNumber: true, show: (job) => `${job.attempt} of ${job.max_attempts}` },
          { name: "Worker", show: (job) => <span class="id">{job.worker_id || "-"}</span> },
        ]}
      />
      <p class="quiet">
        {!isAll && `These are ${counted(jobs.length, "job")} of the ${QUEUES} queues with the most active jobs; more run. `}
        Slow: {SLOW_TIMES} times as long as 95 % of the executions of its queue that completed recently, and longer than {duration(SLOW_MS)}.
      </p>
    </>
  );
}
