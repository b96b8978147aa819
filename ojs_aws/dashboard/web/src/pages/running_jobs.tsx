// The jobs that are executed now, the longest first, and which of them take much longer than others do.

import { Card, JobLink, QueueLink, State, TypeLink, counted } from "../parts";
import { readIfAllowed } from "../api";
import type { Counts, JobPage, JobRow, Spread } from "../shapes";
import { Table } from "../table";
import { duration, exactTime, measured, now, serverNow, zone } from "../times";

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

/** For how long a job runs; its title says since when. */
export function RunsFor({ job: { started_at: at } }: { job: JobRow }) {
  if (!at) return <>–</>;
  const s = Math.round(Math.max(0, now.value - Date.parse(at)) / 1000);
  return <time dateTime={at} title={exactTime(at, zone.value)}>{duration(s * 1000)}</time>;
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

function slowText(job: JobRow, typical: Running["typical"]): string {
  const usual = typical[job.queue];
  return usual ? `slow, ${Math.floor(runsForMs(job) / usual)} times` : "slow";
}

export function RunningJobs({ running }: { running: Running }) {
  const { jobs, typical, isAll } = running;
  return (
    <Card title="Running now" note={`${counted(jobs.length, "job")}, the longest first`}>
      <Table
        label="Jobs that run"
        rows={jobs}
        nameOf={(job) => job.id}
        none="No job runs."
        columns={[
          { name: "Type", kind: "name", show: (job) => <TypeLink id={job.id} type={job.type} /> },
          { name: "Id", kind: "id", show: (job) => <JobLink id={job.id} /> },
          { name: "Queue", kind: "fact", show: (job) => <QueueLink name={job.queue} /> },
          { name: "Runs for", isNumber: true, show: (job) => <RunsFor job={job} /> },
          { name: "95 % take at most", isNumber: true, from: 900, show: (job) => measured(typical[job.queue]) },
          { name: "Pace", kind: "state", show: (job) => (isSlow(job, typical) ? <State name="slow" label={slowText(job, typical)} /> : <span class="quiet">as usual</span>) },
          { name: "Attempt", isNumber: true, from: 1200, show: (job) => `${job.attempt} of ${job.max_attempts}` },
          { name: "Worker", show: (job) => job.worker_id || "–" },
        ]}
      />
      <p class="quiet under-table">
        {!isAll && `These are ${counted(jobs.length, "job")} of the ${QUEUES} queues with the most active jobs; more run. `}
        Slow: {SLOW_TIMES} times as long as 95 % of the executions of its queue that completed recently, and longer than {duration(SLOW_MS)}.
      </p>
    </Card>
  );
}
