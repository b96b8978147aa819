// What operators do with jobs: one, or the chosen ones.

import type { Action } from "../action";
import { ApiError, call } from "../api";
import { counted } from "../parts";
import { ojsAws } from "../quoting";
import { EXPLANATIONS, VERBS, namedStep, outcomeOf } from "./bulk_changes";

interface Retried {
  readonly retried: number;
  readonly items: readonly { readonly job_id: string; readonly reason?: string }[];
}

/** Retry jobs by their ids; an error that names what became of each is an answer, too. */
async function retryNamed(ids: readonly string[]): Promise<Retried> {
  try {
    return (await call<Retried>("POST", "jobs/bulk/retry", { job_ids: ids })).value;
  } catch (error) {
    const answer = error instanceof ApiError && (error.answer as Partial<Retried> | null);
    if (answer && answer.items) return { retried: 0, items: answer.items };
    throw error;
  }
}

const AT_ONCE = "Retryable jobs do not wait for the end of their backoff; they keep their attempt and their errors.";

/** Retry the jobs with these ids. */
export function retryOf(ids: readonly string[]): Action {
  return {
    title: `Retry ${counted(ids.length, "job")}?`,
    explanation: `${EXPLANATIONS.retry} ${AT_ONCE}`,
    command: ojsAws("jobs", "retry", ...ids),
    verb: VERBS.retry,
    run: async () => {
      const { retried, items } = await retryNamed(ids);
      const left = items.flatMap(({ job_id, reason }) => (reason ? [{ job_id, error: reason }] : []));
      return outcomeOf("retry", counted(retried, "job"), ids.length - retried, left);
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
      const { succeeded, failed, errors } = await namedStep("cancel", ids);
      return outcomeOf("cancel", counted(succeeded, "job"), failed, errors);
    },
  };
}

/** The states in which a job can be retried. */
export const RETRIED: readonly string[] = ["discarded", "retryable"];

/** Retry one discarded job, or one that waits for its next attempt. */
export function retryJob(id: string, state: string): Action {
  const isWaiting = state === "retryable";
  return {
    title: isWaiting ? "Retry this job now?" : "Retry this job?",
    explanation: isWaiting ? "The rest of its backoff is skipped: it is available at once. Its attempts count as before, and its errors stay." : EXPLANATIONS.retry,
    command: ojsAws("jobs", "retry", id),
    verb: isWaiting ? "Retry now" : "Retry",
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
    explanation: "A cancelled job stays cancelled: it cannot be retried, but a copy of it can be enqueued later. A worker that runs it is informed with its next heartbeat.",
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
