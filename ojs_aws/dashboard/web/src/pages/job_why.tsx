// Says why a job does not run now, or what runs it, as the backend found it; with links to what holds it back.

import type { ComponentChildren } from "preact";
import { link } from "../address";
import { call } from "../api";
import { Icon, LOOKS } from "../icons";
import { CopyIcon, JobLink, QueueLink, Sentence, Time } from "../parts";
import { ojsAws } from "../quoting";

interface Reason {
  readonly code: string;
  readonly message: string;
  readonly until?: string;
  readonly hint?: string;
  readonly data?: { readonly held_by?: readonly string[]; readonly key?: string };
}

export interface Why {
  readonly state: string;
  readonly reasons: readonly Reason[];
  readonly checked: readonly string[];
}

/** Ask the backend; a job of an older server has no answer. */
export async function readWhy(id: string): Promise<Why> {
  return (await call<Why>("GET", `admin/jobs/${encodeURIComponent(id)}/why`)).value;
}

function workersOf(queue: string) {
  return <a href={link(["workers"], { queue })}>Workers</a>;
}

/** The view where somebody can do something about a reason. */
const VIEWS: Readonly<Record<string, (queue: string) => ComponentChildren>> = {
  limit: () => <a href={link(["limits"])}>Limits</a>,
  no_worker: workersOf,
  queue_paused: (queue) => <>Queue <QueueLink name={queue} /></>,
  running: workersOf,
  worker_silent: workersOf,
  workers_quiet: workersOf,
};

/** The reasons, each with where to go on from there. */
export function Reasons({ why, queue }: { why: Why; queue: string }) {
  return (
    <ul class="reasons">
      {why.reasons.map((reason) => (
        <li key={reason.code} title={reason.code}>
          <Sentence text={reason.message} />
          {reason.until && !reason.message.includes(reason.until) && <> Until: <Time at={reason.until} />.</>}
          {VIEWS[reason.code] && <> {VIEWS[reason.code]?.(queue)}</>}
          {(reason.data?.held_by ?? []).map((holder) => <> <JobLink id={holder} /></>)}
          {reason.hint?.startsWith("ojs-aws ") && <> <CopyIcon text={reason.hint} label="Copy the command" icon="command" /></>}
        </li>
      ))}
    </ul>
  );
}

export function JobWhy({ id, queue, why }: { id: string; queue: string; why: Why }) {
  return (
    <section class={`card why st-${LOOKS[why.state]?.[1] ?? "note"}`}>
      <h2><Icon name={LOOKS[why.state]?.[0] ?? "note"} />{why.state === "active" ? "Now" : "Why it does not run"}</h2>
      <Reasons why={why} queue={queue} />
      <div class="line quiet"><span>Checked: {why.checked.join(", ")}</span><CopyIcon text={ojsAws("why", id)} label="Copy the command" icon="command" /></div>
    </section>
  );
}
