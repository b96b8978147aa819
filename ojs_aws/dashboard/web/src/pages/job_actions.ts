// What operators do with jobs: one, the chosen ones, or all that a filter matches.

import { type Action, THE_NUMBER } from "../action";
import { call } from "../api";
import { counted } from "../parts";
import { ojsAws } from "../quoting";

export type JobFilter = Readonly<Partial<Record<"queue" | "state" | "type" | "since" | "until", string>>>;

type Change = "retry" | "cancel" | "delete";

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
  readonly has_more: boolean;
  readonly next_cursor?: string;
  readonly as_of?: string;
}

/** Change all jobs that a filter matches, after counting them. */
export function changeAll(change: Change, filter: JobFilter): Action {
  const states = (filter.state ?? "").split(",").filter(Boolean);
  const sent = { ...filter, ...(states.length > 0 && { state: states }) };
  let asOf: string | undefined;
  const step = async (body: object): Promise<ByFilter> =>
    (await call<ByFilter>("POST", `admin/jobs/bulk/${change}`, { filter: sent, ...body })).value;
  const words = [
    ...Object.entries(filter).flatMap(([name, value]) => (name === "state" || !value ? [] : [`--${name}`, value])),
    ...states.flatMap((state) => ["--state", state]),
  ];
  return {
    title: `${VERBS[change].split(" ")[0]} all jobs that match?`,
    explanation: EXPLANATIONS[change],
    command: ojsAws("jobs", change, ...words),
    verb: VERBS[change],
    ...(change === "delete" ? { typed: THE_NUMBER } : change === "cancel" && { typed: change }),
    dryRun: async () => {
      const found = await step({ dry_run: true, limit: 1000 });
      asOf = found.as_of;
      return { number: found.matched, isExact: !found.has_more };
    },
    run: async ({ report, isStopped }) => {
      let changed = 0;
      let failed = 0;
      let cursor: string | undefined;
      do {
        const part = await step({ confirm: true, limit: 100, ...(asOf && { as_of: asOf }), ...(cursor && { cursor }) });
        changed += part.succeeded;
        failed += part.failed;
        cursor = part.next_cursor;
        report(`${DONE[change]} ${counted(changed, "job")} so far`);
      } while (cursor && !isStopped());
      const others = failed ? ` ${counted(failed, "job")} could not be changed.` : "";
      return `${cursor ? "Stopped. " : ""}${DONE[change]} ${counted(changed, "job")}.${others}`;
    },
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
