// One queue: what it holds, how fast it moves, and what can be done with it.

import { useState } from "preact/hooks";
import { ActionButton, ask } from "../action";
import { link } from "../address";
import { read, readIfAllowed } from "../api";
import { Facts, Heading, StaleNote, State, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import { type Counts, type Pagination, STATES, type Spread, type Throughput, completedRate, failureRate, timeToEmptyMs } from "../shapes";
import { duration, spreadText } from "../times";
import { type LimitRow, usedOf } from "./limits";
import { queueChange, queuePurge } from "./queue_actions";

interface QueueDetail {
  readonly name: string;
  readonly state: string;
  readonly counts: Counts;
  readonly estimated: readonly string[];
  readonly oldest_available_at?: string;
  readonly throughput: Throughput;
  readonly latency_ms: Spread;
  readonly duration_ms: Spread;
  readonly stats: Counts;
  readonly config: Readonly<Record<string, unknown>>;
}

interface WorkerPage {
  readonly items: readonly { readonly id: string; readonly state: string; readonly queues?: readonly string[] }[];
  readonly pagination: Pagination;
}

interface LimitPage {
  readonly items: readonly LimitRow[];
  readonly pagination: Pagination;
}

interface Everything {
  readonly queue: QueueDetail;
  /** Null where the credential may not see workers. */
  readonly workers: WorkerPage | null;
  readonly limits: LimitPage | null;
}

async function load(id: string): Promise<Everything> {
  const queue = await read<QueueDetail>(`admin/queues/${encodeURIComponent(id)}`);
  const workers = await readIfAllowed<WorkerPage>("admin/workers?limit=200");
  const limits = await readIfAllowed<LimitPage>("rate-limits?limit=100");
  return { queue, workers, limits };
}

const PURGED = STATES.filter((state) => state !== "active");

export function Queue({ id }: { id: string }) {
  const { data: found, error } = useData(() => load(id), 10, `queue ${id}`);
  if (!found) return <><Heading text={`Queue ${id}`} /><Waiting error={error} /></>;
  const data = found.queue;
  const isOpen = data.state === "active";
  return (
    <>
      <Heading text={`Queue ${id}`}>
        <div class="buttons">
          {isOpen ? (
            <>
              <ActionButton isSmall={false} action={() => queueChange(id, "pause")} />
              <ActionButton isSmall={false} action={() => queueChange(id, "drain")} />
            </>
          ) : (
            <ActionButton isSmall={false} action={() => queueChange(id, "resume")} />
          )}
        </div>
      </Heading>
      <StaleNote error={error} />
      <Facts
        facts={[
          ["State", <State name={data.state} />],
          ["Oldest available job", <Time at={data.oldest_available_at} />],
          ["Time to empty", timeToEmpty(data)],
          ["Enqueued a minute", data.throughput.enqueued_per_minute],
          ["Completed a minute", completedRate(data.throughput)],
          ["Failed attempts a minute", failureRate(data.throughput)],
          ["Wait: median, 95 %, 99 %", spreadText(data.latency_ms)],
          ["Run: median, 95 %, 99 %", spreadText(data.duration_ms)],
          ["Workers", <WorkersOf queue={id} page={found.workers} />],
          ["Limits", <LimitsOf queue={id} page={found.limits} />],
        ]}
      />
      <h2>Jobs by state</h2>
      <ul class="tiles">
        {STATES.map((state) => (
          <li key={state}>
            <a href={link(["jobs"], { queue: id, state })}><State name={state} /></a>
            <span class="count">{atLeast(data.counts[state] ?? 0, !data.estimated.includes(state))}</span>
          </li>
        ))}
      </ul>
      <Purge queue={id} />
      <h2>Settings</h2>
      <Facts facts={Object.entries(data.config).map(([name, value]) => [name, value === null ? "-" : typeof value === "object" ? JSON.stringify(value) : String(value)] as const)} />
    </>
  );
}

const NAMED = 5;

/** The workers that serve a queue and send heartbeats. */
function WorkersOf({ queue, page }: { queue: string; page: WorkerPage | null }) {
  const serving = (page?.items ?? []).filter((worker) => worker.queues?.includes(queue));
  if (serving.length === 0) return <>none that sends heartbeats{page?.pagination.has_more ? " among the first 200" : ""}</>;
  return <><a href={link(["workers"])}>{serving.slice(0, NAMED).map((worker) => worker.id).join(", ")}</a>{serving.length > NAMED && ` and ${serving.length - NAMED} more`}</>;
}

/** The limits of a queue, with what is used of each. */
function LimitsOf({ queue, page }: { queue: string; page: LimitPage | null }) {
  const own = (page?.items ?? []).filter(({ key }) => key === `queue:${queue}` || key.startsWith(`queue:${queue}:`));
  if (own.length === 0) return <>none{page?.pagination.has_more ? " among the first 100" : ""}</>;
  return <>{own.map((limit) => <div key={limit.key}><a href={link(["limits"])}>{limit.key}</a>: {usedOf(limit)}</div>)}</>;
}

/** Return how long the present rates take to empty the queue. */
function timeToEmpty(queue: QueueDetail): string {
  const waiting = queue.counts["available"] ?? 0;
  if (waiting === 0) return "nothing waits";
  const ms = timeToEmptyMs(waiting, queue.throughput);
  return ms === null ? "it does not shrink at the rates of the last hour" : duration(ms);
}

function Purge({ queue }: { queue: string }) {
  const [states, setStates] = useState<readonly string[]>([]);
  const toggle = (state: string, isOn: boolean): void => setStates(PURGED.filter((each) => (each === state ? isOn : states.includes(each))));
  return (
    <>
      <h2>Purge</h2>
      <form class="filter" onSubmit={(event) => { event.preventDefault(); ask(queuePurge(queue, states)); }}>
        <fieldset>
          <legend>Jobs that are</legend>
          {PURGED.map((state) => (
            <label key={state}>
              <input type="checkbox" checked={states.includes(state)} onChange={(event) => toggle(state, event.currentTarget.checked)} /> {state}
            </label>
          ))}
        </fieldset>
        <button type="submit" disabled={states.length === 0}>Count and purge …</button>
      </form>
    </>
  );
}
