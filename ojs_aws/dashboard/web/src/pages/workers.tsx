// The workers that send heartbeats: what each runs and since when, and quiet, resume and terminate.

import { useState } from "preact/hooks";
import { type Action, ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Menu, type MenuItem, copyCommand } from "../menu";
import { Card, Code, Empty, Heading, Id, JobLink, QueueLink, State, Time, atLeast, counted } from "../parts";
import { useData } from "../polling";
import { SERVER, ojsAws } from "../quoting";
import type { JobRow, Pagination } from "../shapes";
import { Table } from "../table";
import { earlierFirst } from "../times";
import { type Running, RunningJobs, readRunning } from "./running_jobs";

interface WorkerRow {
  readonly id: string;
  readonly state: string;
  readonly stale?: boolean;
  readonly directive: string;
  readonly active_jobs: number;
  readonly active_job_ids?: readonly string[];
  readonly queues?: readonly string[];
  readonly last_heartbeat_at: string;
  readonly heartbeat_interval_ms?: number;
  readonly directed_by?: { readonly id: string; readonly name: string };
  readonly directed_at?: string;
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

const SHOWN_JOBS = 1;

export function Workers() {
  const cursor = address.value.query.get("cursor") ?? "";
  const queue = address.value.query.get("queue") ?? "";
  const load = async (before: Everything | null, isAsked: boolean): Promise<Everything> => ({
    page: await read<WorkerPage>(`admin/workers?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`),
    running: await readRunning(before?.running ?? null, isAsked),
  });
  const loaded = useData(load, 10, `workers ${cursor}`);
  const heading = <Heading text="Workers" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const { summary } = data.page;
  const next = data.page.pagination.next_cursor;
  const jobsOf = (worker: WorkerRow): JobRow[] => data.running?.jobs.filter((job) => isRunBy(worker, job)) ?? [];
  const startOf = (worker: WorkerRow): string | undefined => jobsOf(worker)[0]?.started_at;
  const isSilent = (worker: WorkerRow): number => (worker.stale ? 0 : 1);
  const silentFirst = [...data.page.items].sort((one, other) => isSilent(one) - isSilent(other) || earlierFirst(startOf(one), startOf(other)));
  const places = data.page.items.filter((worker) => !worker.stale && worker.concurrency);
  const busy = places.reduce((sum, worker) => sum + worker.active_jobs, 0);
  const slots = places.reduce((sum, worker) => sum + (worker.concurrency ?? 0), 0);
  return (
    <>
      {heading}
      <dl class="strip">
        <div><dt>Running</dt><dd class="count">{summary.running} <small>of {atLeast(summary.total, summary.is_exact)} known</small></dd></div>
        <div><dt>Quiet</dt><dd class="count">{summary.quiet}</dd></div>
        <div><dt>Terminating</dt><dd class="count">{summary.terminate}</dd></div>
        <div><dt>Silent</dt><dd class={summary.stale > 0 ? "count bad-text" : "count"}>{summary.stale} <small>without heartbeats</small></dd></div>
        <div><dt>Busy slots</dt><dd class="count">{busy} <small>of {slots}</small></dd></div>
      </dl>
      <Card title={counted(data.page.items.length, "worker")} note="silent ones first" tools={<WholeQueue key={queue} named={queue} workers={data.page.items} />}>
      <Table
        label="Workers"
        rows={silentFirst}
        nameOf={(worker) => worker.id}
        none={<Empty title="No worker has sent a heartbeat in the last hour."><p>Lambda workers send none. This starts a process of your own:</p><Code text={`OJS_URL=${SERVER} ojs-aws run shop:worker`} label="A command that starts a worker" /></Empty>}
        columns={[
          { name: "Worker", kind: "name", show: (worker) => <WorkerName id={worker.id} /> },
          { name: "State", kind: "state", show: (worker) => <State name={stateOf(worker)} label={worker.stale ? "silent" : stateOf(worker)} /> },
          { name: "Busy slots", show: (worker) => <Slots busy={worker.active_jobs} of={worker.concurrency} /> },
          { name: "Queues", kind: "fact", show: (worker) => worker.queues?.map((queue, index) => <span key={queue}>{index > 0 && ", "}<QueueLink name={queue} /></span>) },
          { name: "Host", from: 1400, show: (worker) => worker.hostname ?? "–" },
          ...(data.page.items.some(isAsked) ? [{ name: "Asked to", show: (worker: WorkerRow) => <Asked worker={worker} /> }] : []),
          { name: "Heartbeat", isNumber: true, show: (worker) => <Time at={worker.last_heartbeat_at} /> },
          { name: "Jobs, since", from: 1200, show: (worker) => <JobLinks known={jobsOf(worker)} ids={worker.active_job_ids ?? []} /> },
          { name: "Change", kind: "actions", show: (worker) => <Changes worker={worker} /> },
        ]}
      />
      </Card>
      {next && <p><a href={link(["workers"], { queue, cursor: next })}>Next workers</a></p>}
      {data.running && <RunningJobs running={data.running} />}
    </>
  );
}

/** Return whether a job is executed by a worker, as the job or the worker's latest heartbeat says. */
function isRunBy(worker: WorkerRow, job: JobRow): boolean {
  return job.worker_id ? job.worker_id === worker.id : (worker.active_job_ids ?? []).includes(job.id);
}

/** The jobs of a worker: those whose start is known first, the longest at the top. */
function JobLinks({ known, ids }: { known: readonly JobRow[]; ids: readonly string[] }) {
  const others = ids.filter((id) => known.every((job) => job.id !== id));
  const shown = [
    ...known.map((job) => [job.id, <>{job.type} <Time at={job.started_at} /></>] as const),
    ...others.map((id) => [id, null] as const),
  ];
  return (
    <>
      {shown.slice(0, SHOWN_JOBS).map(([id, about]) => <span key={id}>{about} <JobLink id={id} /></span>)}
      {shown.length > SHOWN_JOBS && <span class="quiet"> and {shown.length - SHOWN_JOBS} more</span>}
    </>
  );
}

/** Return the state that a worker reported, or that it missed its heartbeats. */
function stateOf(worker: WorkerRow): string {
  return worker.stale ? "stale" : worker.state;
}

function isAsked({ directive, directed_by: by }: WorkerRow): boolean {
  return directive !== "running" || Boolean(by);
}

/** What a worker was asked to do last, by whom, and when it follows. */
function Asked({ worker }: { worker: WorkerRow }) {
  const state = stateOf(worker);
  const { directive: asked, directed_by: by, directed_at: at, heartbeat_interval_ms: interval } = worker;
  const next = interval ? new Date(Date.parse(worker.last_heartbeat_at) + interval).toISOString() : undefined;
  if (!isAsked(worker)) return <span class="none">–</span>;
  return (
    <>
      {asked === "running" ? "run" : asked}
      {by && at && <div class="quiet narrow">by {by.name || by.id}, <Time at={at} /></div>}
      {asked !== state && state !== "stale" && <div class="quiet narrow">takes effect with its next heartbeat{next && <>, <Time at={next} /></>}</div>}
    </>
  );
}

/** Quiets or resumes all workers of a queue at once. */
function WholeQueue({ workers, named }: { workers: readonly WorkerRow[]; named: string }) {
  const [queue, setQueue] = useState(named);
  // What is chosen stays on the list, also when the last of its workers has left the page.
  const queues = [...new Set([queue, ...workers.flatMap((worker) => worker.queues ?? [])])].filter(Boolean).sort();
  if (queues.length === 0) return null;
  return (
    <div class="filter">
      <label>
        <span>All workers of the queue</span>
        <select value={queue} onChange={(event) => setQueue(event.currentTarget.value)}>
          <option value="">choose one</option>
          {queues.map((each) => <option key={each} value={each}>{each}</option>)}
        </select>
      </label>
      <ActionButton isDisabled={!queue} label="Quiet all" action={() => directQueue(queue, "quiet")} />
      <ActionButton isDisabled={!queue} label="Resume all" action={() => directQueue(queue, "resume")} />
    </div>
  );
}

interface Directed {
  readonly updated: number;
  readonly refused: readonly string[];
  readonly next_cursor?: string;
}

/** Quiet or resume the workers of a queue that are there now. */
export function directQueue(queue: string, change: "quiet" | "resume"): Action {
  return {
    title: `${VERBS[change]} all workers of ${queue}?`,
    explanation: `${change === "quiet" ? "With their next heartbeat they fetch no more jobs, and finish those that they have." : "With their next heartbeat they fetch again."} This applies to their other queues, too, but not to workers that start later.`,
    command: ojsAws("workers", change, "--queue", queue),
    verb: VERBS[change],
    run: async () => {
      let updated = 0;
      const refused: string[] = [];
      let cursor: string | undefined;
      do {
        const { value } = await call<Directed>("POST", `admin/workers/${change}`, { queue, ...(cursor && { cursor }) });
        updated += value.updated;
        refused.push(...value.refused);
        cursor = value.next_cursor;
      } while (cursor);
      return `Sent ${change} to ${counted(updated, "worker")} of ${queue}; it takes effect with the next heartbeat.${refused.length > 0 ? ` Already terminating: ${refused.join(", ")}.` : ""}`;
    },
  };
}

/** A silent worker hears nothing, and one that terminates does so already. */
function Changes({ worker }: { worker: WorkerRow }) {
  if (worker.directive === "terminate") return null;
  const show: MenuItem = copyCommand(ojsAws("workers", "show", worker.id));
  if (worker.stale) return <Menu label={`More for ${worker.id}`} items={[show]} />;
  return (
    <div class="buttons">
      <ActionButton action={() => directive(worker.id, worker.directive === "quiet" ? "resume" : "quiet")} />
      <Menu label={`More for ${worker.id}`} items={[show, { label: "Terminate …", icon: "draining", action: () => directive(worker.id, "terminate"), isDangerous: true }]} />
    </div>
  );
}

/** A worker's id: a long one is cut in the middle. */
function WorkerName({ id }: { id: string }) {
  return id.length > 24 ? <Id id={id} /> : <>{id}</>;
}

/** How many of a worker's slots run a job. */
function Slots({ busy, of: slots }: { busy: number; of: number | undefined }) {
  if (!slots) return <>{busy}</>;
  return (
    <>
      <svg class={`slots st-${busy >= slots ? "retryable" : "active"}`} viewBox="0 0 64 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="base" width="64" height="6" /><rect width={(64 * Math.min(busy, slots)) / slots} height="6" />
      </svg>
      {`${busy} of ${slots}`}
    </>
  );
}

const VERBS = { quiet: "Quiet", resume: "Resume", terminate: "Terminate" } as const;

const EXPLANATIONS = {
  quiet: "With its next heartbeat the worker fetches no more jobs, and finishes those that it has.",
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
      return `Sent ${change} to ${id}. It takes effect with its next heartbeat.`;
    },
  };
}
