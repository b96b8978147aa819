// What operators do with a queue, each with its command line.

import type { Action } from "../action";
import { call } from "../api";
import { ojsAws } from "../quoting";

type Change = "pause" | "resume" | "drain";

const EXPLANATIONS: Readonly<Record<Change, string>> = {
  pause: "Workers fetch nothing more from this queue. Jobs may still be enqueued, and active jobs go on.",
  resume: "Workers fetch from this queue again, and it takes new jobs.",
  drain: "The queue takes no new jobs. Workers finish the jobs that are there. Resume ends it.",
};

const DONE: Readonly<Record<Change, string>> = { pause: "paused", resume: "resumed", drain: "draining" };

const VERBS: Readonly<Record<Change, string>> = { pause: "Pause", resume: "Resume", drain: "Drain" };

/** Pause, resume or drain a queue. */
export function queueChange(queue: string, change: Change): Action {
  return {
    title: `${VERBS[change]} the queue ${queue}?`,
    explanation: EXPLANATIONS[change],
    command: ojsAws("queues", change, queue),
    verb: VERBS[change],
    run: async () => {
      await call("POST", `admin/queues/${encodeURIComponent(queue)}/${change}`);
      return `The queue ${queue} is ${DONE[change]}.`;
    },
  };
}

interface Purged {
  readonly purged_count: number;
  readonly next_cursor?: string;
}

const DRY_ROUNDS = 10;

/** Purge the jobs of a queue in some states: ended ones are deleted, others cancelled. */
export function queuePurge(queue: string, states: readonly string[]): Action {
  const path = `admin/queues/${encodeURIComponent(queue)}/jobs`;
  const purge = async (body: object): Promise<Purged> => (await call<Purged>("DELETE", path, { states, ...body })).value;
  return {
    title: `Purge the queue ${queue}?`,
    explanation: `Jobs that are ${states.join(", ")}: those that ended are deleted for good, the others are cancelled.`,
    command: ojsAws("queues", "purge", queue, ...states.flatMap((state) => ["--state", state])),
    verb: "Purge",
    typed: queue,
    dryRun: async () => {
      let count = 0;
      let cursor: string | undefined;
      for (let round = 0; round < DRY_ROUNDS; round += 1) {
        const found = await purge({ dry_run: true, ...(cursor && { cursor }) });
        count += found.purged_count;
        cursor = found.next_cursor;
        if (!cursor) break;
      }
      return { number: count, isExact: !cursor };
    },
    run: async ({ report, isStopped }) => {
      let count = 0;
      let cursor: string | undefined;
      do {
        const found = await purge({ confirm: true, ...(cursor && { cursor }) });
        count += found.purged_count;
        cursor = found.next_cursor;
        report(`${count} purged so far`);
      } while (cursor && !isStopped());
      return cursor ? `Stopped after ${count} jobs of ${queue}.` : `Purged ${count} jobs of ${queue}.`;
    },
  };
}
