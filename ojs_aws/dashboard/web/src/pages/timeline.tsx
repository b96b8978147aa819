// What happened to a job, in order: each attempt with how long it waited and ran, and on which worker.

import { type Entry, type JobEvent, hasDied, startOf } from "../attempts";
import { ExactTime, Time } from "../parts";
import { between, now } from "../times";
import { FailureText } from "./failure";

/** When each worker was last seen, by its id. */
export type Seen = Readonly<Record<string, string>>;

interface Known {
  readonly events: readonly JobEvent[];
  readonly seen: Seen;
}

/** An entry, or several attempts that failed one after the other with the same error. */
interface Step {
  readonly entries: readonly Entry[];
  /** What came before it. */
  readonly before: readonly Entry[];
}

/** Return the steps of a history: equal failures are one. */
export function stepsOf(history: readonly Entry[]): readonly Step[] {
  const steps: { entries: Entry[]; before: readonly Entry[] }[] = [];
  history.forEach((entry, index) => {
    const last = steps.at(-1);
    if (last && isSameFailure(last.entries[0], entry)) last.entries.push(entry);
    else steps.push({ entries: [entry], before: history.slice(0, index) });
  });
  return steps;
}

function isSameFailure(one: Entry | undefined, other: Entry): boolean {
  return (
    one?.error !== undefined && other.error !== undefined && one.what === other.what && !one.before_retry === !other.before_retry &&
    one.error.type === other.error.type && one.error.message === other.error.message
  );
}

const LOOK: Readonly<Record<string, string>> = {
  attempt_failed: "discarded", cancelled: "cancelled", completed: "completed", dead_lettered: "discarded", discarded: "discarded", enqueued: "available",
  next_attempt: "retryable", scheduled: "scheduled", started: "active",
};

export function Timeline({ history, ...known }: Known & { history: readonly Entry[] }) {
  return (
    <ol class="timeline">
      {stepsOf(history).map(({ entries, before }) => {
        const first = entries[0] as Entry;
        return (
          <li key={`${first.at} ${first.what} ${before.length}`} class={`st-${LOOK[first.what] ?? "note"}`}>
            {entries.length > 1 ? <Repeated entries={entries} {...known} /> : <Single entry={first} before={before} {...known} />}
          </li>
        );
      })}
    </ol>
  );
}

function Single({ entry, before, ...known }: Known & { entry: Entry; before: readonly Entry[] }) {
  return (
    <>
      <strong>{entry.what.replaceAll("_", " ")}</strong>
      {entry.attempt !== undefined && ` (attempt ${entry.attempt})`}
      {entry.before_retry && " before it was retried"} <span class="quiet"><ExactTime at={entry.at} /></span>
      <Details entry={entry} before={before} {...known} />
      {entry.error && <FailureText failure={entry.error} />}
    </>
  );
}

/** Equal failures: once, with each attempt's times where somebody wants them. */
function Repeated({ entries, ...known }: Known & { entries: readonly Entry[] }) {
  const last = entries.at(-1) as Entry;
  return (
    <>
      <strong>attempts failed</strong> ({entries[0]?.attempt} to {last.attempt}, each with the same error)
      {last.before_retry && " before the job was retried"} <span class="quiet">the last one <Time at={last.at} /></span>
      <FailureText failure={last.error ?? {}} />
      <details>
        <summary>Each of them</summary>
        <ul>
          {entries.map((entry) => (
            <li key={entry.at}>
              Attempt {entry.attempt} failed <span class="quiet"><ExactTime at={entry.at} /></span>
              <Start entry={entry} {...known} />
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** When and where an attempt began, and how long it ran, as the event log says. */
function Start({ entry, events, seen }: Known & { entry: Entry }) {
  const start = startOf(entry, events);
  if (!start) return null;
  const worker = start.data.worker_id;
  return (
    <div>
      Started <ExactTime at={start.time} />{worker && <> on worker <span class="id">{worker}</span></>}; ran {between(start.time, entry.at)}.
      {hasDied(entry.error) && <LastSeen at={seen[worker ?? ""]} until={entry.at} />}
    </div>
  );
}

/** When a worker that died was last heard of; one that runs again since is no help. */
function LastSeen({ at, until }: { at: string | undefined; until: string }) {
  return at !== undefined && at <= until ? <> The worker was last seen <ExactTime at={at} />, {between(at, until)} before.</> : null;
}

function Details({ entry, before, ...known }: Known & { entry: Entry; before: readonly Entry[] }) {
  const { events } = known;
  const last = before.at(-1);
  if (entry.what === "started") {
    const event = events.find((each) => each.type === "job.started" && each.time === entry.at);
    const waited = between(last?.at, entry.at);
    const worker = event?.data.worker_id;
    return <div>{waited && `Waited ${waited}.`}{worker && <> Worker <span class="id">{worker}</span>.</>}</div>;
  }
  if (Date.parse(entry.at) > now.value) return <div>Still to come.</div>;
  const start = before.findLast((each) => each.what === "started" && !each.before_retry === !entry.before_retry);
  if (start !== undefined && last === start && !hasDied(entry.error)) return <div>Ran {between(start.at, entry.at)}.</div>;
  if (entry.what === "attempt_failed") return <Start entry={entry} {...known} />;
  const by = events.find((each) => each.type === `job.${entry.what}`)?.data.by;
  return by ? <div>By {by.name || by.id}.</div> : null;
}
