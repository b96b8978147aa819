// The workers that send heartbeats: what each runs, and quiet, resume and terminate.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Heading, JobLink, QueueLink, StaleNote, State, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Pagination } from "../shapes";
import { Table } from "../table";

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

const SHOWN_JOBS = 5;

export function Workers() {
  const cursor = address.value.query.get("cursor") ?? "";
  const { data, error } = useData(() => read<WorkerPage>(`admin/workers?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 10, `workers ${cursor}`);
  if (!data) return <><Heading text="Workers" /><Waiting error={error} /></>;
  const { summary } = data;
  const next = data.pagination.next_cursor;
  return (
    <>
      <Heading text="Workers" />
      <StaleNote error={error} />
      <p>{atLeast(summary.total, summary.is_exact)} workers: {summary.running} running, {summary.quiet} quiet, {summary.terminate} terminating, {summary.stale} without heartbeats.</p>
      <Table
        label="Workers"
        rows={data.items}
        nameOf={(worker) => worker.id}
        none="No worker has sent a heartbeat in the last hour. Lambda workers send none."
        columns={[
          { name: "Worker", show: (worker) => <span class="id">{worker.id}</span> },
          { name: "State", show: (worker) => <State name={worker.state} /> },
          { name: "Asked to", show: (worker) => worker.directive },
          { name: "Queues", show: (worker) => worker.queues?.map((queue, index) => <span key={queue}>{index > 0 && ", "}<QueueLink name={queue} /></span>) },
          { name: "Runs", isNumber: true, show: (worker) => `${worker.active_jobs}${worker.concurrency ? ` of ${worker.concurrency}` : ""}` },
          { name: "Jobs", show: (worker) => <JobLinks ids={worker.active_job_ids ?? []} /> },
          { name: "Heartbeat", show: (worker) => <Time at={worker.last_heartbeat_at} /> },
          { name: "Host", show: (worker) => worker.hostname ?? "-" },
          { name: "Change", show: (worker) => <Changes worker={worker} /> },
        ]}
      />
      {next && <p><a href={link(["workers"], { cursor: next })}>Next workers</a></p>}
    </>
  );
}

function JobLinks({ ids }: { ids: readonly string[] }) {
  return <>{ids.slice(0, SHOWN_JOBS).map((id) => <div key={id} class="line"><JobLink id={id} /></div>)}{ids.length > SHOWN_JOBS && `and ${ids.length - SHOWN_JOBS} more`}</>;
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
