// What operators do with jobs: one, the chosen ones, or all that a filter matches.

import { signal } from "@preact/signals";
import { type Action, type Count, type Progress, THE_NUMBER } from "../action";
import { JsonText, call } from "../api";
import { at, readSource } from "../json_source";
import { counted } from "../parts";
import { SERVER, ojsAws } from "../quoting";

export type JobFilter = Readonly<Partial<Record<"queue" | "state" | "type" | "since" | "until" | "tag" | "error", string>>>;

type Change = "retry" | "cancel" | "delete";

/** Nobody needs to know more exactly how many jobs match. */
const MANY = 1000;

const VERBS: Readonly<Record<Change, string>> = { retry: "Retry", cancel: "Cancel jobs", delete: "Delete" };

const DONE: Readonly<Record<Change, string>> = { retry: "Retried", cancel: "Cancelled", delete: "Deleted" };

const EXPLANATIONS: Readonly<Record<Change, string>> = {
  retry: "Discarded jobs become available again with attempt 0. Their old errors are kept apart.",
  cancel: "Jobs that have not ended are cancelled and stay so. Workers learn it with their next heartbeat.",
  delete: "Jobs that have ended are deleted for good, with their arguments and results.",
};

interface ById {
  readonly retried?: number;
  readonly cancelled?: number;
  readonly skipped?: number;
  readonly items: readonly { readonly status: string; readonly job_id: string; readonly error?: unknown }[];
}

function byId(change: "retry" | "cancel", ids: readonly string[]): Action {
  return {
    title: `${change === "retry" ? "Retry" : "Cancel"} ${counted(ids.length, "job")}?`,
    explanation: EXPLANATIONS[change],
    command: ojsAws("jobs", change, ...ids),
    verb: VERBS[change],
    run: async () => {
      const { value } = await call<ById>("POST", `jobs/bulk/${change}`, { job_ids: ids });
      const changed = value.retried ?? value.cancelled ?? 0;
      const others = ids.length - changed;
      return `${DONE[change]} ${counted(changed, "job")}.${others ? ` ${counted(others, "job")} could not be changed: the state did not allow it.` : ""}`;
    },
  };
}

/** Retry the jobs with these ids. */
export function retryOf(ids: readonly string[]): Action {
  return byId("retry", ids);
}

/** Cancel the jobs with these ids. */
export function cancelOf(ids: readonly string[]): Action {
  return byId("cancel", ids);
}

interface ByFilter {
  readonly matched: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly examined: number;
  readonly has_more: boolean;
  readonly next_cursor?: string;
  readonly as_of?: string;
}

/** A change of many jobs that has not come to its end. */
export interface Unfinished {
  readonly change: Change;
  readonly filter: JobFilter;
  readonly asOf: string | undefined;
  readonly cursor: string | undefined;
  readonly changed: number;
  readonly failed: number;
  /** True if an answer is missing: then more jobs may have been changed than was counted. */
  readonly isLost: boolean;
}

/** Return how many jobs a change has changed, as far as is known. */
export function changedSoFar({ changed, isLost }: Unfinished): string {
  return `${isLost ? "at least " : ""}${counted(changed, "job")}`;
}

const STORED = `ojs-unfinished ${SERVER}`;

/** The last change of many jobs, if it was stopped, or the page was loaded again meanwhile. */
export const unfinished = signal<Unfinished | null>(JSON.parse(sessionStorage.getItem(STORED) ?? "null") as Unfinished | null);

/** Keep how far a change has come for this tab, or forget it. */
export function keepUnfinished(state: Unfinished | null): void {
  unfinished.value = state;
  if (state) sessionStorage.setItem(STORED, JSON.stringify(state));
  else sessionStorage.removeItem(STORED);
}

async function bulkStep(change: Change, filter: JobFilter, body: object): Promise<ByFilter> {
  const states = statesOf(filter);
  const sent = { ...filter, ...(states.length > 0 && { state: states }) };
  return (await call<ByFilter>("POST", `admin/jobs/bulk/${change}`, { filter: sent, ...body })).value;
}

function statesOf(filter: JobFilter): string[] {
  return (filter.state ?? "").split(",").filter(Boolean);
}

/** Change page after page of the jobs that match, from where it stands; those that came later are left alone. */
async function changeFrom(from: Unfinished, { report, isStopped }: Progress): Promise<string> {
  const { change, filter, asOf } = from;
  let state = from;
  do {
    // Kept before it is sent: its answer may be lost, or the page loaded again meanwhile.
    keepUnfinished({ ...state, isLost: true });
    const { cursor } = state;
    const part = await bulkStep(change, filter, { confirm: true, limit: 100, ...(asOf && { as_of: asOf }), ...(cursor && { cursor }) });
    state = { ...state, cursor: part.next_cursor, changed: state.changed + part.succeeded, failed: state.failed + part.failed };
    keepUnfinished(state.cursor ? state : null);
    report(`${DONE[change]} ${changedSoFar(state)} so far`);
  } while (state.cursor && !isStopped());
  const others = state.failed ? ` ${counted(state.failed, "job")} could not be changed.` : "";
  return `${state.cursor ? "Stopped. " : ""}${DONE[change]} ${changedSoFar(state)}.${others}`;
}

function commandOf(change: Change, filter: JobFilter): string {
  const words = Object.entries(filter).flatMap(([name, value]) => (name === "state" || !value ? [] : [`--${name}`, value]));
  return ojsAws("jobs", change, ...words, ...statesOf(filter).flatMap((state) => ["--state", state]));
}

/** Count what a change of all that match would meet: to the end, until many match, or until it is stopped. */
async function countAll(change: Change, filter: JobFilter, { report, isStopped }: Progress): Promise<Count & { asOf: string | undefined }> {
  let [number, examined] = [0, 0];
  let cursor, asOf: string | undefined;
  do {
    const part = await bulkStep(change, filter, { dry_run: true, limit: 1000, ...(asOf && { as_of: asOf }), ...(cursor && { cursor }) });
    number += part.matched;
    examined += part.examined;
    asOf ??= part.as_of;
    cursor = part.next_cursor;
    report(`Looked at ${counted(examined, "job")}; ${number.toLocaleString("en")} match`);
  } while (cursor && number < MANY && !isStopped());
  return { number, isExact: !cursor, asOf };
}

/** Change all jobs that a filter matches, after counting them. */
export function changeAll(change: Change, filter: JobFilter): Action {
  let asOf: string | undefined;
  return {
    title: `${VERBS[change].split(" ")[0]} all jobs that match?`,
    explanation: EXPLANATIONS[change],
    command: commandOf(change, filter),
    verb: VERBS[change],
    ...(change === "delete" ? { typed: THE_NUMBER } : change === "cancel" && { typed: change }),
    dryRun: async (progress) => {
      const counted = await countAll(change, filter, progress);
      asOf = counted.asOf;
      return counted;
    },
    run: (progress) => {
      const before = unfinished.value;
      const isSame = before?.change === change && asOf !== undefined && before.asOf === asOf;
      return changeFrom(isSame ? before : { change, filter, asOf, cursor: undefined, changed: 0, failed: 0, isLost: false }, progress);
    },
  };
}

/** Go on with a change that was not finished: with the jobs that were counted then, and no others. */
export function goOn(from: Unfinished): Action {
  return {
    title: "Go on with this change?",
    explanation: `${EXPLANATIONS[from.change]} ${DONE[from.change]} so far: ${changedSoFar(from)}.`,
    command: commandOf(from.change, from.filter),
    verb: "Go on",
    run: (progress) => changeFrom(from, progress),
  };
}

/** Retry one discarded job. */
export function retryJob(id: string): Action {
  return {
    title: "Retry this job?",
    explanation: EXPLANATIONS.retry,
    command: ojsAws("jobs", "retry", id),
    verb: "Retry",
    run: async () => {
      await call("POST", `admin/jobs/${id}/retry`);
      return "The job is available again.";
    },
  };
}

/** Replay a dead letter with other arguments, beginning with the text of those that it has. */
export function editAndReplay(id: string): Action {
  return {
    title: "Edit and replay this dead letter?",
    explanation: "The job is enqueued again with attempt 0 and these arguments. Its old errors are kept apart.",
    command: (value) => ojsAws("dead-letter", "retry", id, "--override", `{"args":${value}}`),
    verb: "Replay",
    edits: { label: "Arguments", load: async () => argsOf((await call("GET", `admin/jobs/${id}`)).text), problem: arrayProblem },
    run: async (_, value) => {
      await call("POST", `dead-letter/${id}/retry`, new JsonText(`{"override":{"args":${value}}}`));
      return `The job ${id} is available again.`;
    },
  };
}

function argsOf(answer: string): string {
  return at(readSource(answer), "job", "args")?.text ?? "[]";
}

/** Say why a text is no JSON array; empty if it is one. */
function arrayProblem(text: string): string {
  try {
    return Array.isArray(JSON.parse(text)) ? "" : "Arguments are a JSON array.";
  } catch {
    return "This is no JSON yet.";
  }
}

/** Cancel one job. */
export function cancelJob(id: string): Action {
  return {
    title: "Cancel this job?",
    explanation: "A cancelled job stays cancelled. A worker that executes it learns it with its next heartbeat.",
    command: ojsAws("jobs", "cancel", id),
    verb: "Cancel the job",
    run: async () => {
      await call("POST", `admin/jobs/${id}/cancel`);
      return "The job is cancelled.";
    },
  };
}

/** Change the priority of a job that waits. */
export function prioritizeJob(id: string, priority: number): Action {
  return {
    title: "Change the priority of this job?",
    explanation: "Jobs of a higher priority run first. A job that has begun keeps its priority.",
    command: (value) => ojsAws("jobs", "priority", id, ...(value.startsWith("-") ? ["--", value] : [value])),
    verb: "Change",
    asks: { label: "Priority, from -100 to 100", least: -100, most: 100, initial: priority },
    run: async (_, value) => {
      await call("PATCH", `jobs/${id}`, { priority: Number(value) });
      return `The job has priority ${value}.`;
    },
  };
}

/** Delete one dead letter. */
export function deleteDeadLetter(id: string): Action {
  return {
    title: "Delete this dead letter?",
    explanation: "The job is removed for good, with its arguments and errors.",
    command: ojsAws("dead-letter", "delete", id),
    verb: "Delete",
    typed: "delete",
    run: async () => {
      await call("DELETE", `dead-letter/${id}`);
      return `The dead letter ${id} is deleted.`;
    },
  };
}
