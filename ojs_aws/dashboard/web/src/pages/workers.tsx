// The workers that send heartbeats: what each runs and since when, and quiet, resume and terminate.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Heading, JobLink, QueueLink, StaleNote, State, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { JobRow, Pagination } from "../shapes";
import { Table } from "../table";
import { type Running, RunningJobs, isSlow, readRunning } from "./running_jobs";

interface WorkerRow {
  readonly id: string;
  readonly state: string;
  readonly directive: string;
  readonly active_jobs: number;
  readonly active_job_ids?: readonly string[];
  readonly queues?: readonly string[];
  readonly last_heartbeat_at: string;
  readonly hostname?: string;
  readonly concurrency?: number;
}

interface WorkerPage {
  readonly items: readonly WorkerRow[];
  readonly summary: { readonly total: number; readonly running: number; readonly quiet: number; readonly terminate: number; readonly stale: number; readonly is_exact: boolean };
  readonly pagination: Pagination;
}

interface Everything {
  readonly page: WorkerPage;
  /** Null where the credential may not read jobs. */
  readonly running: Running | null;
}

const SHOWN_JOBS = 5;

export function Workers() {
  const cursor = address.value.query.get("cursor") ?? "";
  const load = async (before: Everything | null, isAsked: boolean): Promise<Everything> => ({
    page: await read<WorkerPage>(`admin/workers?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`),
    running: await readRunning(before?.running ?? null, isAsked),
  });
  const { data, error } = useData(load, 10, `workers ${cursor}`);
  if (!data) return <><Heading text="Workers" /><Waiting error={error} /></>;
  const { summary } = data.page;
  const next = data.page.pagination.next_cursor;
  const jobsOf = (worker: WorkerRow): JobRow[] => data.running?.jobs.filter((job) => isRunBy(worker, job)) ?? [];
  const startOf = (worker: WorkerRow): string => jobsOf(worker)[0]?.started_at ?? "~";
  const slowestFirst = [...data.page.items].sort((one, other) => startOf(one).localeCompare(startOf(other)));
  return (
    <>
      <Heading text="Workers" />
      <StaleNote error={error} />
      <p>{atLeast(summary.total, summary.is_exact)} workers: {summary.running} running, {summary.quiet} quiet, {summary.terminate} terminating, {summary.stale} without heartbeats.</p>
      <Table
        label="Workers"
        rows={slowestFirst}
        nameOf={(worker) => worker.id}
        none="No worker has sent a heartbeat in the last hour. Lambda workers send none."
        columns={[
          { name: "Worker", show: (worker) => <span class="id">{worker.id}</span> },
          { name: "State", show: (worker) => <State name={worker.state} /> },
          { name: "Asked to", show: (worker) => worker.directive },
          { name: "Queues", show: (worker) => worker.queues?.map((queue, index) => <span key={queue}>{index > 0 && ", "}<QueueLink name={queue} /></span>) },
          { name: "Runs", isNumber: true, show: (worker) => `${worker.active_jobs}${worker.concurrency ? ` of ${worker.concurrency}` : ""}` },
          { name: "Jobs, since", show: (worker) => <JobLinks known={jobsOf(worker)} ids={worker.active_job_ids ?? []} typical={data.running?.typical ?? {}} /> },
          { name: "Heartbeat", show: (worker) => <Time at={worker.last_heartbeat_at} /> },
          { name: "Host", show: (worker) => worker.hostname ?? "-" },
          { name: "Change", show: (worker) => <Changes worker={worker} /> },
        ]}
      />
      {next && <p><a href={link(["workers"], { cursor: next })}>Next workers</a></p>}
      {data.running && <RunningJobs running={data.running} />}
    </>
  );
}

/** Return whether a job is executed by a worker, as the job or the worker's latest heartbeat says. */
function isRunBy(worker: WorkerRow, job: JobRow): boolean {
  return job.worker_id ? job.worker_id === worker.id : (worker.active_job_ids ?? []).includes(job.id);
}

/** The jobs of a worker: those whose start is known first, the longest at the top. */
function JobLinks({ known, ids, typical }: { known: readonly JobRow[]; ids: readonly string[]; typical: Running["typical"] }) {
  const others = ids.filter((id) => known.every((job) => job.id !== id));
  const shown = [
    ...known.map((job) => [job.id, <>{job.type} <Time at={job.started_at} /> {isSlow(job, typical) && <State name="slow" />}</>] as const),
    ...others.map((id) => [id, null] as const),
  ];
  return (
    <>
      {shown.slice(0, SHOWN_JOBS).map(([id, about]) => <div key={id} class="line"><JobLink id={id} />{about && <div>{about}</div>}</div>)}
      {shown.length > SHOWN_JOBS && `and ${shown.length - SHOWN_JOBS} more`}
    </>
  );
}

function Changes({ worker }: { worker: WorkerRow }) {
  if (worker.directive === "terminate") return <>-</>;
  return (
    <div class="buttons">
      <ActionButton action={() => directive(worker.id, worker.directive === "quiet" ? "resume" : "quiet")} />
      <ActionButton action={() => directive(worker.id, "terminate")} />
    </div>
  );
}

const VERBS = { quiet: "Quiet", resume: "Resume", terminate: "Terminate" } as const;

const EXPLANATIONS = {
  quiet: "With its next heartbeat the worker fetches no more, and finishes its jobs.",
  resume: "With its next heartbeat the worker fetches again.",
  terminate: "With its next heartbeat the worker ends within its grace period. It cannot be resumed.",
} as const;

function directive(id: string, change: keyof typeof VERBS): Action {
  return {
    title: `${VERBS[change]} the worker ${id}?`,
    explanation: EXPLANATIONS[change],
    command: ojsAws("workers", change, id),
    verb: VERBS[change],
    ...(change === "terminate" && { typed: "terminate" }),
    run: async () => {
      await call("POST", `admin/workers/${encodeURIComponent(id)}/${change}`);
      return `Sent ${change} to ${id}.`;
    },
  };
}
