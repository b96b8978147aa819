// What operators do with a queue, each with its command line.

import type { Action } from "../action";
import { call } from "../api";
import { ojsAws } from "../quoting";

type Change = "pause" | "resume" | "drain";

const EXPLANATIONS: Readonly<Record<Change, string>> = {
  pause: "Workers fetch nothing more from this queue. Jobs may still be enqueued, and active jobs go on.",
  resume: "Workers fetch from this queue again, and it takes new jobs.",
  drain: "The queue takes no new jobs. Workers finish the jobs that are there. Resume ends the draining.",
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
