// The attempts of a job, from its history and its events: when each waited, ran and ended, and where.

import type { Failure } from "./shapes";

export interface Entry {
  readonly at: string;
  readonly what: string;
  readonly attempt?: number;
  readonly error?: Failure;
  readonly before_retry?: boolean;
}

export interface JobEvent {
  readonly type: string;
  readonly time: string;
  readonly data: { readonly attempt?: number; readonly worker_id?: string; readonly next_retry_at?: string; readonly by?: { readonly name?: string; readonly id: string } };
}

/** One attempt; instants in milliseconds. */
export interface Attempt {
  readonly number: number;
  /** Since when it could have begun: what lies before it is the backoff. */
  readonly ready: number;
  /** Undefined where nobody knows it, or it has not begun. */
  readonly start: number | undefined;
  /** Undefined while it runs or is still to come. */
  readonly end: number | undefined;
  readonly worker: string | undefined;
  readonly state: "completed" | "discarded" | "cancelled" | "active" | "retryable";
  readonly error: Failure | undefined;
}

/** Return the event of an attempt's start: the last one before it ended. */
export function startOf(entry: Entry, events: readonly JobEvent[]): JobEvent | undefined {
  return events.findLast((each) => each.type === "job.started" && each.data.attempt === entry.attempt && each.time <= entry.at);
}

/** Return whether an attempt ended because its worker died. */
export function hasDied(error: Failure | undefined): boolean {
  return error?.type === "worker_death";
}

/** Return the workers that died with the job. */
export function deadWorkers(history: readonly Entry[], events: readonly JobEvent[]): string[] {
  return [...new Set(history.flatMap((entry) => (hasDied(entry.error) ? (startOf(entry, events)?.data.worker_id ?? []) : [])))];
}

const ENDS: Readonly<Record<string, Attempt["state"]>> = { attempt_failed: "discarded", completed: "completed", cancelled: "cancelled" };

/** Return the attempts since the job was last retried by hand. */
export function attemptsOf(history: readonly Entry[], events: readonly JobEvent[]): Attempt[] {
  const own = history.filter((entry) => !entry.before_retry);
  const found: Attempt[] = [];
  let ready = Date.parse(own.findLast((each) => ["enqueued", "created"].includes(each.what))?.at ?? "");
  let start: Entry | undefined;
  for (const entry of own) {
    const at = Date.parse(entry.at);
    if (entry.what === "started") start = entry;
    const state = ENDS[entry.what];
    if (state && (entry.what === "attempt_failed" || start)) {
      const number = entry.attempt ?? start?.attempt ?? found.length + 1;
      const event = startOf({ ...entry, attempt: number }, events);
      const began = Date.parse(event?.time ?? (start?.attempt === number ? start.at : ""));
      found.push({ number, ready: Math.min(ready, began || at), start: began || undefined, end: at, worker: event?.data.worker_id, state, error: entry.error });
      const next = events.findLast((each) => each.type === "job.retrying" && each.data.attempt === number)?.data.next_retry_at;
      ready = Date.parse(next ?? "") || at;
      start = undefined;
    }
    if (entry.what === "next_attempt") found.push({ number: entry.attempt ?? found.length + 1, ready: at, start: undefined, end: undefined, worker: undefined, state: "retryable", error: undefined });
  }
  if (start) {
    const number = start.attempt ?? found.length + 1;
    const event = startOf({ ...start, attempt: number }, events);
    found.push({ number, ready: Math.min(ready, Date.parse(start.at)), start: Date.parse(start.at), end: undefined, worker: event?.data.worker_id, state: "active", error: undefined });
  }
  return found;
}
