// Changes all jobs that a filter matches, or purges a queue: counts first, works step by step, and goes on after a reload.

import { signal } from "@preact/signals";
import { type Action, type Count, type Left, type Outcome, type Progress, THE_NUMBER } from "../action";
import { call } from "../api";
import { counted } from "../parts";
import { SERVER, ojsAws } from "../quoting";

export type JobFilter = Readonly<Partial<Record<"queue" | "state" | "type" | "since" | "until" | "tag" | "error" | "error_type", string>>>;

export type Change = "retry" | "cancel" | "delete";

/** A purge is of one queue and some states: it deletes the jobs that have ended, and cancels the others. Dead letters are replayed. */
type BulkChange = Change | "purge" | "replay";

/** Jobs that one request changes. */
const STEP = 100;

export const TERMINAL: readonly string[] = ["completed", "discarded", "cancelled"];

/** Nobody needs to know more exactly how many jobs match. */
const MANY = 1000;

/** Jobs that could not be changed, and are named. */
const NAMED = 5;

export const VERBS: Readonly<Record<BulkChange, string>> = { retry: "Retry", cancel: "Cancel jobs", delete: "Delete", purge: "Purge", replay: "Replay" };

const DONE: Readonly<Record<BulkChange, string>> = { retry: "Retried", cancel: "Cancelled", delete: "Deleted", purge: "Purged", replay: "Replayed" };

export const EXPLANATIONS: Readonly<Record<BulkChange, string>> = {
  retry: "Discarded jobs become available again with attempt 0. Their old errors are kept apart.",
  cancel: "Jobs that have not ended are cancelled and stay so: they cannot be retried, but copies of them can be enqueued later. Workers are informed with their next heartbeat.",
  delete: "Jobs that have ended are deleted for good, with their arguments and results.",
  purge: "Jobs that have ended are deleted for good, the others are cancelled.",
  replay: "They are enqueued again with attempt 0 and the same arguments; their old errors are kept apart. Dead letters that come meanwhile stay.",
};

/** The states in which a job can be changed so. */
const POSSIBLE: Readonly<Record<Change, (state: string) => boolean>> = {
  retry: (state) => state === "discarded",
  cancel: (state) => !TERMINAL.includes(state),
  delete: (state) => TERMINAL.includes(state),
};

/** Return what became of many jobs: those that could not be changed make it a warning, and the first ones are named.
 *
 * @param unmatched how many were counted, and matched no longer when they were to be changed.
 */
export function outcomeOf(change: BulkChange, changed: string, failed: number, left: readonly Left[] = [], unmatched = 0): Outcome {
  const gone = unmatched > 0 ? ` ${counted(unmatched, "job")} no longer matched.` : "";
  const others = failed > 0 ? ` ${counted(failed, "job")} could not be changed.` : "";
  const first = failed > NAMED ? ` The first ${NAMED}:` : "";
  return { text: `${DONE[change]} ${changed}.${gone}${others}${first}`, isPartial: failed > 0 || unmatched > 0, left: failed > 0 ? left.slice(0, NAMED) : [] };
}

interface ByFilter {
  readonly job_ids: readonly string[];
  readonly matched: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly errors: readonly Left[];
  readonly examined: number;
  readonly next_cursor?: string;
  readonly as_of?: string;
}

interface DeadLettersChanged extends Pick<ByFilter, "failed" | "next_cursor" | "as_of"> {
  readonly retried: number;
  /** Of a dry run. */
  readonly matched?: number;
  readonly results: readonly { readonly id: string; readonly status: string; readonly reason?: string }[];
}

/** A change of many jobs that has not come to its end. */
export interface Unfinished {
  readonly change: BulkChange;
  readonly filter: JobFilter;
  readonly asOf?: string | undefined;
  readonly cursor?: string | undefined;
  /** The counted jobs that are left to change, where they are changed by their ids. */
  readonly ids?: readonly string[];
  /** How many jobs were counted; a lower bound is not kept. */
  readonly number?: number;
  readonly changed: number;
  readonly failed: number;
  /** The first of those that could not be changed. */
  readonly left?: readonly Left[];
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

/** Change the next jobs of a filter, or count them. */
async function filterStep({ change, filter, asOf, cursor }: Unfinished, isDry: boolean): Promise<ByFilter> {
  const states = statesOf(filter);
  const sent = { [isDry ? "dry_run" : "confirm"]: true, cursor };
  if (change === "purge") {
    const { value } = await call<ByFilter & { readonly purged_count: number }>("DELETE", `admin/queues/${encodeURIComponent(filter.queue ?? "")}/jobs`, { ...sent, states });
    const number = value.purged_count;
    return { ...value, job_ids: [], matched: number, succeeded: number, examined: number, failed: 0, errors: [] };
  }
  if (change === "replay") {
    const { value } = await call<DeadLettersChanged>("POST", "dead-letter/retry", { ...sent, filter, limit: isDry ? MANY : STEP, as_of: asOf });
    const errors = value.results.flatMap(({ id, status, reason }) => (["matched", "retried"].includes(status) ? [] : [{ job_id: id, error: reason ?? status }]));
    return { ...value, job_ids: [], matched: value.matched ?? 0, succeeded: value.retried, examined: value.results.length, errors };
  }
  const wanted = { ...filter, ...(states.length > 0 && { state: states }) };
  return (await call<ByFilter>("POST", `admin/jobs/bulk/${change}`, { ...sent, filter: wanted, limit: isDry ? MANY : STEP, as_of: asOf })).value;
}

/** Change the jobs with these ids. */
export async function namedStep(change: BulkChange, ids: readonly string[]): Promise<ByFilter> {
  return (await call<ByFilter>("POST", `admin/jobs/bulk/${change}`, { job_ids: ids, confirm: true })).value;
}

/** Change the next hundred jobs, and return how far it has come then. */
async function nextStep(state: Unfinished): Promise<Unfinished> {
  const { change, ids } = state;
  const part = ids ? await namedStep(change, ids.slice(0, STEP)) : await filterStep(state, false);
  const further = ids ? { ids: ids.slice(STEP) } : { cursor: part.next_cursor };
  const left = [...(state.left ?? []), ...part.errors].slice(0, NAMED);
  return { ...state, ...further, left, changed: state.changed + part.succeeded, failed: state.failed + part.failed };
}

function isOver(state: Unfinished): boolean {
  return state.ids ? state.ids.length === 0 : !state.cursor;
}

function statesOf(filter: JobFilter): string[] {
  return (filter.state ?? "").split(",").filter(Boolean);
}

/** Change page after page of the jobs that match, from where it stands; only a purge meets those that came later. */
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
  const { isLost, number = 0, changed, failed } = state;
  const unmatched = isLost || !isOver(state) ? 0 : number - changed - failed;
  const outcome = outcomeOf(change, changedSoFar(state), isLost ? 0 : failed, state.left, unmatched);
  return isOver(state) ? outcome : { ...outcome, text: `Stopped. ${outcome.text}`, isPartial: true };
}

function commandOf(change: BulkChange, filter: JobFilter): string {
  const states = statesOf(filter).flatMap((state) => ["--state", state]);
  if (change === "purge") return ojsAws("queues", "purge", filter.queue ?? "", ...states);
  const words = Object.entries(filter).flatMap(([name, value]) => (name === "state" || !value ? [] : [`--${name.replace("_", "-")}`, value]));
  if (change === "replay") return ojsAws("dead-letter", "retry", ...(words.length > 0 ? words : ["--all"]));
  return ojsAws("jobs", change, ...words, ...states);
}

interface Counted extends Count {
  /** What changes these jobs, and no others. */
  readonly start: Unfinished;
}

/** Count what a change of all that match would meet: to the end, until many match, or until it is stopped. */
async function countAll(change: BulkChange, filter: JobFilter, { report, isStopped }: Progress): Promise<Counted> {
  const start: Unfinished = { change, filter, changed: 0, failed: 0, isLost: false };
  let [number, examined] = [0, 0];
  let { asOf, cursor } = start;
  const ids: string[] = [];
  do {
    const part = await filterStep({ ...start, asOf, cursor }, true);
    number += part.matched;
    ids.push(...part.job_ids);
    examined += part.examined;
    asOf ??= part.as_of;
    cursor = part.next_cursor;
    report(`Looked at ${counted(examined, "job")}; ${number.toLocaleString("en")} match`);
  } while (cursor && number < MANY && !isStopped());
  // Jobs that retry leave their state again and again: the counted ones are cancelled by their ids.
  return { number, isExact: !cursor, start: { ...start, asOf, ...(!cursor && { number }), ...(change === "cancel" && !cursor && { ids }) } };
}

type Question = Pick<Action, "title" | "explanation" | "typed">;

/** Change all jobs that a filter matches, after counting them. */
function bulkChange(change: BulkChange, filter: JobFilter, question: Question): Action {
  let start: Unfinished | undefined;
  let hasBegun = false;
  return {
    ...question,
    command: commandOf(change, filter),
    verb: VERBS[change],
    dryRun: async (progress) => {
      const found = await countAll(change, filter, progress);
      start = found.start;
      return found;
    },
    run: (progress) => {
      // After an error it goes on where it was.
      const from = (hasBegun && unfinished.value) || start;
      if (!from) throw new Error("The jobs are not counted yet.");
      hasBegun = true;
      return changeFrom(from, progress);
    },
  };
}

/** Retry, cancel or delete all jobs that a filter matches; those in other states stay as they are. */
export function changeAll(change: Change, whole: JobFilter): Action {
  const named = statesOf(whole);
  const left = named.filter((state) => !POSSIBLE[change](state));
  const filter = { ...whole, ...(left.length > 0 && { state: named.filter(POSSIBLE[change]).join(",") }) };
  return bulkChange(change, filter, {
    title: `${VERBS[change].split(" ")[0]} all jobs that match?`,
    explanation: `${EXPLANATIONS[change]}${left.length > 0 ? ` Those that are ${left.join(" or ")} stay as they are.` : ""}`,
    ...(change === "delete" ? { typed: THE_NUMBER } : change === "cancel" && { typed: change }),
  });
}

/** Replay the dead letters that a filter matches; all without one. */
export function replayAll(filter: JobFilter): Action {
  return bulkChange("replay", filter, { title: `Replay all dead letters${Object.keys(filter).length > 0 ? " that match" : ""}?`, explanation: EXPLANATIONS.replay });
}

function purged(states: readonly string[], become: string): string {
  return states.length > 0 ? `Jobs that are ${states.join(" or ")} are ${become}.` : "";
}

/** Purge the jobs of a queue in some states. */
export function queuePurge(queue: string, states: readonly string[]): Action {
  return bulkChange("purge", { queue, state: states.join(",") }, {
    title: `Purge the queue ${queue}?`,
    explanation: [
      purged(states.filter((state) => TERMINAL.includes(state)), "deleted for good, with their arguments and results"),
      purged(states.filter((state) => !TERMINAL.includes(state)), "cancelled, and cannot be retried"),
    ].filter(Boolean).join(" "),
    typed: queue,
  });
}

/** Go on with a change that was not finished, where it was. */
export function goOn(from: Unfinished): Action {
  return {
    title: "Go on with this change?",
    explanation: `${EXPLANATIONS[from.change]} ${DONE[from.change]} so far: ${changedSoFar(from)}.`,
    command: commandOf(from.change, from.filter),
    verb: "Go on",
    run: (progress) => changeFrom(from, progress),
  };
}
