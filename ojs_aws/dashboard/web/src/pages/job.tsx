// One job: what happened to it, what it carries exactly as it was sent, and what can be done with it.

import { ActionButton } from "../action";
import { link } from "../address";
import { call, readIfAnswered } from "../api";
import { type Entry, type JobEvent, attemptsOf, deadWorkers } from "../attempts";
import { shown } from "../bidi";
import { type Source, at, readSource } from "../json_source";
import { Menu, type MenuItem, copyCommand } from "../menu";
import { Card, CopyIcon, Facts, Heading, Id, QueueLink, State, Time, counted } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Failure, Spread } from "../shapes";
import { between, duration, measured, now, spelled } from "../times";
import { FailureText } from "./failure";
import { AttemptBars } from "./attempt_bars";
import { JobCopy } from "./job_copy";
import { deleteDeadLetter, editAndReplay } from "./dead_letter_actions";
import { RETRIED, cancelJob, prioritizeJob, retryJob } from "./job_actions";
import { JobArguments, JobData } from "./job_data";
import { JobWhy, type Why, readWhy } from "./job_why";
import { isLong, readUsual } from "./running_jobs";
import { type Seen, Timeline } from "./timeline";

interface JobDetail {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly state: string;
  readonly priority: number;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly timeout_ms?: number;
  readonly created_at: string;
  readonly started_at?: string;
  readonly scheduled_at?: string;
  readonly next_attempt_at?: string;
  readonly expires_at?: string;
  readonly workflow_id?: string;
  readonly unique?: { readonly keys?: readonly string[]; readonly period?: string; readonly on_conflict?: string };
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly retry_policy?: { readonly on_exhaustion?: string };
  readonly error?: Failure;
  readonly history: readonly Entry[];
  readonly events?: { readonly items: readonly JobEvent[]; readonly has_more: boolean };
}

interface Loaded {
  /** How often it was asked for. */
  readonly round: number;
  readonly job: JobDetail;
  readonly source: Source;
  readonly progress: Progress | null;
  readonly why: Why | null;
  /** How long executions of its queue take, while it runs. */
  readonly usual: Spread | null;
  /** When the workers that died with it were last seen. */
  readonly seen: Seen;
}

interface Progress {
  readonly percentage: number | null;
  readonly message: string | null;
  readonly updated_at: string | null;
  /** What the worker sent with it, as it was sent. */
  readonly data: string;
}

const WAITING: readonly string[] = ["available", "scheduled", "pending"];
const TERMINAL: readonly string[] = ["completed", "discarded", "cancelled"];

/** A job that has ended hardly changes: it is read with every twelfth round only. */
const ENDED_EVERY = 12;

/** Why a job waits takes several reads: it is asked for with every sixth round, and when the state changes. */
const WHY_EVERY = 6;

export function Job({ id }: { id: string }) {
  const load = async (before: Loaded | null, isAsked: boolean): Promise<Loaded> => {
    const round = (before?.round ?? -1) + 1;
    if (before && !isAsked && TERMINAL.includes(before.job.state) && round % ENDED_EVERY !== 0) return { ...before, round };
    const { value, text } = await call<{ job: JobDetail }>("GET", `admin/jobs/${encodeURIComponent(id)}?events=true`);
    const source = at(readSource(text), "job");
    if (!source) throw new Error("The answer has no job.");
    const { state } = value.job;
    const isNew = isAsked || before?.job.state !== state || round % WHY_EVERY === 0;
    return {
      job: value.job,
      source,
      round,
      progress: state === "active" ? await readProgress(id) : null,
      usual: state !== "active" ? null : isNew ? await readUsual(value.job.queue) : (before?.usual ?? null),
      seen: await readSeen(value.job, before?.seen ?? {}),
      why: TERMINAL.includes(state) ? null : isNew ? await readWhy(id) : (before?.why ?? null),
    };
  };
  const loaded = useData(load, 5, `job ${id}`);
  const { data } = loaded;
  if (!data) return <Heading text={`Job ${id}`} kind="Job" of={loaded} />;
  const { job, source, progress, why, usual, seen } = data;
  const events = job.events?.items ?? [];
  return (
    <>
      <Heading text={`Job ${job.type}`} kind="Job" of={loaded} beside={<><State name={job.state} /><Id id={job.id} /></>}>
        <Actions job={job} />
      </Heading>
      <div class="with-rail">
        <div>
          {why && <JobWhy id={id} queue={job.queue} why={why} />}
          {job.error && <FailureText failure={job.error} isMain />}
          <JobArguments source={source} />
          <Card title="Timeline" note={attemptsNote(job)}>
            <AttemptBars attempts={attemptsOf(job.history, events)} />
            <Timeline history={job.history} events={events} seen={seen} />
            {job.events?.has_more && <p class="quiet">The event log has more <a href={link(["events"], { job_id: id })}>events of this job</a>.</p>}
          </Card>
          <JobData source={source} progress={progress?.data ?? "null"} />
          <JobCopy source={source} />
        </div>
        <aside class="rail" aria-label="Facts">
          <section class="card">
            <Facts
              facts={[
                ["Queue", <QueueLink name={job.queue} />],
                ["Attempt", `${job.attempt} of ${job.max_attempts}`],
                ["Priority", job.priority],
                ...(job.timeout_ms ? [["Time limit", `${duration(job.timeout_ms)} an attempt`] as const] : []),
                ["Created", <Time at={job.created_at} />],
                ...optional("Due", job.scheduled_at),
                ...optional("Next attempt", job.next_attempt_at),
                ...optional("Expires", job.expires_at),
                ...(job.workflow_id ? [["Workflow", <Id id={job.workflow_id} to={link(["workflows", job.workflow_id])} />] as const] : []),
                ...(unique(job) ? [["Unique", unique(job)] as const] : []),
                ...(traceOf(job) ? [["Trace", <><span class="id">{traceOf(job)}</span> <CopyIcon text={traceOf(job)} label="Copy the trace" /></>] as const] : []),
                ...(progress?.updated_at ? [["Progress", <>{progress.percentage} % {shown(progress.message ?? "")} (<Time at={progress.updated_at} />)</>] as const] : []),
              ]}
            />
          </section>
          {job.state === "active" && usual && <Card title={`Compared with ${job.queue}`}><Usual job={job} usual={usual} /></Card>}
        </aside>
      </div>
    </>
  );
}

/** Say how many attempts failed, and how many are left. */
function attemptsNote({ history, state, attempt, max_attempts: most }: JobDetail): string {
  const failed = history.filter((entry) => entry.what === "attempt_failed" && !entry.before_retry).length;
  const left = TERMINAL.includes(state) ? 0 : Math.max(0, most - attempt);
  return failed === 0 ? "" : `${counted(failed, "attempt")} failed, ${left} left`;
}

/** What can be done with a job: at most two buttons, and a menu. */
function Actions({ job }: { job: JobDetail }) {
  const { id, state } = job;
  const isDead = state === "discarded" && job.retry_policy?.on_exhaustion === "dead_letter";
  const items: readonly MenuItem[] = [
    ...(isDead ? [{ label: "Edit and replay …", icon: "edit" as const, action: () => editAndReplay(id) }] : []),
    copyCommand(ojsAws("jobs", "show", id)),
    ...(TERMINAL.includes(state) ? [] : [{ label: "Cancel the job …", icon: "cancelled" as const, action: () => cancelJob(id), isDangerous: true }]),
    ...(isDead ? [{ label: "Delete …", icon: "trash" as const, action: () => deleteDeadLetter(id), isDangerous: true }] : []),
  ];
  return (
    <>
      {RETRIED.includes(state) && <ActionButton isSmall={false} isMain icon="retryable" action={() => retryJob(id, state)} />}
      {WAITING.includes(state) && <ActionButton isSmall={false} label="Change priority" action={() => prioritizeJob(id, job.priority)} />}
      <Menu items={items} />
    </>
  );
}

/** Say by what a job is unique, and for how long. */
function unique({ unique: policy }: JobDetail): string {
  if (!policy) return "";
  const { keys, period, on_conflict: conflict } = policy;
  return `by ${(Array.isArray(keys) && keys.join(", ")) || "type"}${period ? ` for ${spelled(period)}` : ""}${conflict ? `, else ${conflict}` : ""}`;
}

/** Return the W3C trace id that a job carries. */
function traceOf({ meta }: JobDetail): string {
  const context = meta?.["traceparent"];
  return typeof context === "string" ? (context.match(/^[0-9a-f]{2}-([0-9a-f]{32})-/)?.[1] ?? "") : "";
}

/** How long the job runs, beside what is usual for its queue. */
function Usual({ job, usual }: { job: JobDetail; usual: Spread }) {
  const ms = now.value - Date.parse(job.started_at ?? "");
  return (
    <p>
      It has run for {between(job.started_at, new Date(now.value).toISOString())}{" "}
      {isLong(ms, usual.p95) && <State name="slow" />}; of the executions of its queue that ended recently, half took at most {measured(usual.p50)}, and 95 % at most {measured(usual.p95)}.
    </p>
  );
}

const MOST_SEEN = 3;

/** Read once when each worker that died with the job was last seen; one that is forgotten says nothing. */
async function readSeen(job: JobDetail, before: Seen): Promise<Seen> {
  const seen = { ...before };
  for (const worker of deadWorkers(job.history, job.events?.items ?? []).filter((each) => !(each in seen)).slice(-MOST_SEEN)) {
    const found = await readIfAnswered<{ worker: { last_heartbeat_at?: string } }>(`admin/workers/${encodeURIComponent(worker)}`);
    seen[worker] = found?.worker.last_heartbeat_at ?? "~";
  }
  return seen;
}

async function readProgress(id: string): Promise<Progress> {
  const { value, text } = await call<Omit<Progress, "data">>("GET", `jobs/${encodeURIComponent(id)}/progress`);
  return { ...value, data: at(readSource(text), "data")?.text ?? "null" };
}

function optional(name: string, instant: string | undefined) {
  return instant ? [[name, <Time at={instant} />] as const] : [];
}
