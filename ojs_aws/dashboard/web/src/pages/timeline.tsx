// What happened to a job, in order: each attempt with how long it waited and ran, and on which worker.

import { ExactTime } from "../parts";
import type { Failure } from "../shapes";
import { between, now } from "../times";
import { FailureText } from "./failure";

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
  readonly data: { readonly attempt?: number; readonly worker_id?: string };
}

export function Timeline({ history, events }: { history: readonly Entry[]; events: readonly JobEvent[] }) {
  return (
    <ol class="timeline">
      {history.map((entry, index) => (
        <li key={`${entry.at} ${entry.what} ${index}`}>
          <strong>{entry.what.replaceAll("_", " ")}</strong>
          {entry.attempt !== undefined && ` (attempt ${entry.attempt})`}
          {entry.before_retry && " before it was retried"} <span class="quiet"><ExactTime at={entry.at} /></span>
          <Details entry={entry} before={history.slice(0, index)} events={events} />
          {entry.error && <FailureText failure={entry.error} />}
        </li>
      ))}
    </ol>
  );
}

function Details({ entry, before, events }: { entry: Entry; before: readonly Entry[]; events: readonly JobEvent[] }) {
  const last = before.at(-1);
  if (entry.what === "started") {
    const event = events.find((each) => each.type === "job.started" && each.time === entry.at);
    const waited = between(last?.at, entry.at);
    const worker = event?.data.worker_id;
    return <div>{waited && `Waited ${waited}.`}{worker && <> Worker <span class="id">{worker}</span>.</>}</div>;
  }
  if (Date.parse(entry.at) > now.value) return <div>Still to come.</div>;
  const start = before.findLast((each) => each.what === "started" && !each.before_retry === !entry.before_retry);
  const isEnd = last === start && start !== undefined;
  return isEnd ? <div>Ran {between(start.at, entry.at)}.</div> : null;
}
