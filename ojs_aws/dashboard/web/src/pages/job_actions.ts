// What operators do with jobs: one, the chosen ones, or all that a filter matches.

import { signal } from "@preact/signals";
import { type Action, type Count, type Outcome, type Progress, THE_NUMBER } from "../action";
import { call } from "../api";
import { counted } from "../parts";
import { SERVER, ojsAws } from "../quoting";

export type JobFilter = Readonly<Partial<Record<"queue" | "state" | "type" | "since" | "until" | "tag" | "error", string>>>;

type Change = "retry" | "cancel" | "delete";

/** Jobs that one request changes. */
const STEP = 100;

export const TERMINAL: readonly string[] = ["completed", "discarded", "cancelled"];

/** Nobody needs to know more exactly how many jobs match. */
const MANY = 1000;

const VERBS: Readonly<Record<Change, string>> = { retry: "Retry", cancel: "Cancel jobs", delete: "Delete" };

const DONE: Readonly<Record<Change, string>> = { retry: "Retried", cancel: "Cancelled", delete: "Deleted" };

const EXPLANATIONS: Readonly<Record<Change, string>> = {
  retry: "Discarded jobs become available again with attempt 0. Their old errors are kept apart.",
  cancel: "Jobs that have not ended are cancelled and stay so: they cannot be retried, but copies of them can be enqueued later. Workers learn it with their next heartbeat.",
  delete: "Jobs that have ended are deleted for good, with their arguments and results.",
};

/** The states in which a job can be changed so. */
const POSSIBLE: Readonly<Record<Change, (state: string) => boolean>> = {
  retry: (state) => state === "discarded",
  cancel: (state) => !TERMINAL.includes(state),
  delete: (state) => TERMINAL.includes(state),
};

/** Return what became of many jobs, as a warning if some of them were left as they are. */
function outcomeOf(change: Change, changed: string, left: number): Outcome {
  const others = left ? ` ${counted(left, "job")} could not be changed: the state did not allow it.` : "";
  return { text: `${DONE[change]} ${changed}.${others}`, isPartial: left > 0 };
}

/** Retry the jobs with these ids. */
export function retryOf(ids: readonly string[]): Action {
  return {
    title: `Retry ${counted(ids.length, "job")}?`,
    explanation: EXPLANATIONS.retry,
    command: ojsAws("jobs", "retry", ...ids),
    verb: VERBS.retry,
    run: async () => {
      const { value } = await call<{ readonly retried: number }>("POST", "jobs/bulk/retry", { job_ids: ids });
      return outcomeOf("retry", counted(value.retried, "job"), ids.length - value.retried);
    },
  };
}

/** Cancel the jobs with these ids. */
export function cancelOf(ids: readonly string[]): Action {
  return {
    title: `Cancel ${counted(ids.length, "job")}?`,
    explanation: EXPLANATIONS.cancel,
    command: ojsAws("jobs", "cancel", ...ids),
    verb: VERBS.cancel,
    run: async () => {
      const { succeeded, failed } = await namedStep("cancel", ids);
      return outcomeOf("cancel", counted(succeeded, "job"), failed);
    },
  };
}

interface ByFilter {
  readonly job_ids: readonly string[];
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
  /** The counted jobs that are left to change, where they are changed by their ids. */
  readonly ids?: readonly string[];
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

async function namedStep(change: Change, ids: readonly string[]): Promise<ByFilter> {
  return (await call<ByFilter>("POST", `admin/jobs/bulk/${change}`, { job_ids: ids, confirm: true })).value;
}

/** Change the next hundred jobs, and return how far it has come then. */
async function nextStep(state: Unfinished): Promise<Unfinished> {
  const { change, filter, asOf, cursor, ids } = state;
  const part = ids
    ? await namedStep(change, ids.slice(0, STEP))
    : await bulkStep(change, filter, { confirm: true, limit: STEP, ...(asOf && { as_of: asOf }), ...(cursor && { cursor }) });
  const further = ids ? { ids: ids.slice(STEP) } : { cursor: part.next_cursor };
  return { ...state, ...further, changed: state.changed + part.succeeded, failed: state.failed + part.failed };
}

function isOver(state: Unfinished): boolean {
  return state.ids ? state.ids.length === 0 : !state.cursor;
}

function statesOf(filter: JobFilter): string[] {
  return (filter.state ?? "").split(",").filter(Boolean);
}

/** Change page after page of the jobs that match, from where it stands; those that came later are left alone. */
async function changeFrom(from: Unfinished, { report, isStopped }: Progress): Promise<Outcome> {
  const { change } = from;
  let state = from;
  do {
    // Kept before it is sent: its answer may be lost, or the page loaded again meanwhile.
    keepUnfinished({ ...state, isLost: true });
    state = await nextStep(state);
    keepUnfinished(isOver(state) ? null : state);
    report(`${DONE[change]} ${changedSoFar(state)} so far`);
  } while (!isOver(state) && !isStopped());
  // After a lost answer, those that it was about have changed already.
  const outcome = outcomeOf(change, changedSoFar(state), state.isLost ? 0 : state.failed);
  return isOver(state) ? outcome : { text: `Stopped. ${outcome.text}`, isPartial: true };
}

function commandOf(change: Change, filter: JobFilter): string {
  const words = Object.entries(filter).flatMap(([name, value]) => (name === "state" || !value ? [] : [`--${name}`, value]));
  return ojsAws("jobs", change, ...words, ...statesOf(filter).flatMap((state) => ["--state", state]));
}

interface Counted extends Count {
  readonly asOf: string | undefined;
  readonly ids?: readonly string[];
}

/** Count what a change of all that match would meet: to the end, until many match, or until it is stopped. */
async function countAll(change: Change, filter: JobFilter, { report, isStopped }: Progress): Promise<Counted> {
  let [number, examined] = [0, 0];
  const ids: string[] = [];
  let cursor, asOf: string | undefined;
  do {
    const part = await bulkStep(change, filter, { dry_run: true, limit: 1000, ...(asOf && { as_of: asOf }), ...(cursor && { cursor }) });
    number += part.matched;
    ids.push(...part.job_ids);
    examined += part.examined;
    asOf ??= part.as_of;
    cursor = part.next_cursor;
    report(`Looked at ${counted(examined, "job")}; ${number.toLocaleString("en")} match`);
  } while (cursor && number < MANY && !isStopped());
  // Jobs that retry leave their state again and again: the counted ones are cancelled by their ids.
  return { number, isExact: !cursor, asOf, ...(change === "cancel" && !cursor && { ids }) };
}

/** Change all jobs that a filter matches, after counting them. */
export function changeAll(change: Change, whole: JobFilter): Action {
  const named = statesOf(whole);
  const left = named.filter((state) => !POSSIBLE[change](state));
  const filter = { ...whole, ...(left.length > 0 && { state: named.filter(POSSIBLE[change]).join(",") }) };
  let found: Counted | undefined;
  return {
    title: `${VERBS[change].split(" ")[0]} all jobs that match?`,
    explanation: `${EXPLANATIONS[change]}${left.length > 0 ? ` Those that are ${left.join(" or ")} stay as they are.` : ""}`,
    command: commandOf(change, filter),
    verb: VERBS[change],
    ...(change === "delete" ? { typed: THE_NUMBER } : change === "cancel" && { typed: change }),
    dryRun: async (progress) => {
      found = await countAll(change, filter, progress);
      return found;
    },
    run: (progress) => {
      const before = unfinished.value;
      const { asOf, ids } = found ?? {};
      const isSame = before?.change === change && asOf !== undefined && before.asOf === asOf;
      return changeFrom(isSame ? before : { change, filter, asOf, cursor: undefined, ...(ids && { ids }), changed: 0, failed: 0, isLost: false }, progress);
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

/** Cancel one job. */
export function cancelJob(id: string): Action {
  return {
    title: "Cancel this job?",
    explanation: "A cancelled job stays cancelled: it cannot be retried, but a copy of it can be enqueued later. A worker that executes it learns it with its next heartbeat.",
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
