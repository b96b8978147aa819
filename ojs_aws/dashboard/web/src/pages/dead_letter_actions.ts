// What operators do with a dead letter.

import type { Action } from "../action";
import { JsonText, call, readForChange } from "../api";
import { at, readSource } from "../json_source";
import { ojsAws } from "../quoting";

/** Replay a dead letter with other arguments, beginning with the text of those that it has. */
export function editAndReplay(id: string): Action {
  return {
    title: "Edit and replay this dead letter?",
    explanation: "The job is enqueued again with attempt 0 and these arguments. Its old errors are kept apart.",
    command: (value) => ojsAws("dead-letter", "retry", id, "--override", `{"args":${value}}`),
    verb: "Replay",
    edits: { label: "Arguments", load: async () => argsOf(await readForChange(`admin/jobs/${id}`)), problem: arrayProblem },
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
    return Array.isArray(JSON.parse(text)) ? "" : "Arguments must be a JSON array.";
  } catch {
    return "This is not JSON yet.";
  }
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
