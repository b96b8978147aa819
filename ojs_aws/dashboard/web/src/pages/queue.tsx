// One queue: what it holds, how fast it moves, and what can be done with it.

import { useState } from "preact/hooks";
import { ActionButton, ask } from "../action";
import { link } from "../address";
import { read } from "../api";
import { Facts, Heading, StaleNote, State, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import { type Counts, STATES, type Spread, type Throughput, completedRate, failureRate } from "../shapes";
import { duration, spreadText } from "../times";
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

const PURGED = STATES.filter((state) => state !== "active");

export function Queue({ id }: { id: string }) {
  const { data, error } = useData(() => read<QueueDetail>(`admin/queues/${encodeURIComponent(id)}`), 10, `queue ${id}`);
  if (!data) return <><Heading text={`Queue ${id}`} /><Waiting error={error} /></>;
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

/** Return how long the present rates take to empty the queue. */
function timeToEmpty(queue: QueueDetail): string {
  const waiting = queue.counts["available"] ?? 0;
  const ended = queue.throughput.processed_per_minute;
  const faster = ended - queue.throughput.enqueued_per_minute;
  if (waiting === 0) return "nothing waits";
  if (faster <= 0) return "it grows at the rates of the last hour";
  return duration((waiting / faster) * 60_000);
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
