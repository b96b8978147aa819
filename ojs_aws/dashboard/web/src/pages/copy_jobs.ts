// Enqueues copies of cancelled jobs: the way back from a cancellation, which is final for the jobs themselves.

import type { Action, Left } from "../action";
import { ApiError, JsonText, call, readForChange } from "../api";
import { copyIdOf } from "../job_id";
import { type Source, at, readSource } from "../json_source";
import { counted } from "../parts";
import { copyOf } from "./job_copy";

/** What became of a job that was to be copied. */
type Outcome = "copied" | "had one" | "left alone";

/** Enqueue one copy of each of these jobs that is cancelled, one after the other. */
export function copiesOf(ids: readonly string[]): Action {
  return {
    title: `Enqueue copies of ${counted(ids.length, "job")}?`,
    explanation: "Each cancelled job is enqueued again as a new job, exactly as it was sent; its schedule is left out. A job gets one copy only, however often this is repeated.",
    command: "# No command does this. The page of each job has the line that enqueues its copy.",
    verb: "Enqueue copies",
    run: async ({ report, isStopped }) => {
      const found: Record<Outcome, number> = { copied: 0, "had one": 0, "left alone": 0 };
      const left: Left[] = [];
      let looked = 0;
      for (const id of ids) {
        if (isStopped()) break;
        try {
          found[await copyJob(id)] += 1;
        } catch (error) {
          if (!(error instanceof ApiError) || !isOfTheJob(error)) throw error;
          left.push({ job_id: id, error: error.message });
        }
        looked += 1;
        report(`${looked} of ${counted(ids.length, "job")}`);
      }
      const text = [
        ...(looked < ids.length ? [`Stopped after ${counted(looked, "job")}.`] : []),
        `Enqueued ${found.copied === 1 ? "1 copy" : `${found.copied} copies`}.`,
        ...(found["had one"] ? [`${counted(found["had one"], "job")} had a copy already.`] : []),
        ...(found["left alone"] ? [`${counted(found["left alone"], "job")} left alone: not cancelled.`] : []),
        ...(left.length > 0 ? [`${counted(left.length, "job")} could not be copied.`] : []),
      ].join(" ");
      return { text, isPartial: looked < ids.length || left.length > 0, left };
    },
  };
}

/** Return whether a refusal is about this job, so that the others can be copied nevertheless. */
function isOfTheJob(error: ApiError): boolean {
  return [400, 404, 409, 422].includes(error.status);
}

async function copyJob(id: string): Promise<Outcome> {
  const source = at(readSource(await readForChange(`admin/jobs/${encodeURIComponent(id)}`)), "job");
  if (!source || at(source, "state")?.text !== '"cancelled"') return "left alone";
  return enqueueCopy(id, source);
}

/** Send a copy under the id that belongs to it: one that was sent before is known by it. */
async function enqueueCopy(id: string, source: Source): Promise<Outcome> {
  const copyId = copyIdOf(id);
  try {
    const { status } = await call("POST", "jobs", new JsonText(copyOf(source).replace("{", `{"id":"${copyId}",`)));
    return status === 201 ? "copied" : "had one";
  } catch (error) {
    // Another job of its unique key is a duplicate, too: only the copy itself is had already.
    if (error instanceof ApiError && error.status === 409 && error.message.includes(copyId)) return "had one";
    throw error;
  }
}
