// One queue: what it holds, how fast it moves, and what can be done with it.

import { useState } from "preact/hooks";
import { ActionButton, ask } from "../action";
import { link } from "../address";
import { read, readIfAllowed } from "../api";
import { Facts, Heading, JobLink, State, Time, atLeast } from "../parts";
import { useData } from "../polling";
import { type Counts, type JobPage, type Pagination, STATES, type Spread, type Throughput, completedRate, failureRate, timeToEmptyMs } from "../shapes";
import { duration, spreadText } from "../times";
import { type Why, Reasons, readWhy } from "./job_why";
import { type LimitRow, usedOf } from "./limits";
import { queuePurge } from "./bulk_changes";
import { Interrupted } from "./interrupted";
import { queueChange } from "./queue_actions";

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

/** The job that comes next, and why it waits. */
interface Next {
  readonly id: string;
  readonly why: Why;
}

interface Everything {
  readonly round: number;
  readonly queue: QueueDetail;
  /** What it did in the last five minutes, as the overview shows it; null where the credential may not. */
  readonly recent: Throughput | null;
  readonly next: Next | null;
  /** Null where the credential may not see workers. */
  readonly workers: WorkerPage | null;
  readonly limits: LimitPage | null;
}

/** All but the queue's own numbers take reads of their own: they come with every third round. */
const MORE_EVERY = 3;

async function load(id: string, before: Everything | null, isAsked: boolean): Promise<Everything> {
  const round = (before?.round ?? -1) + 1;
  const queue = await read<QueueDetail>(`admin/queues/${encodeURIComponent(id)}`);
  if (before && !isAsked && round % MORE_EVERY !== 0) return { ...before, round, queue };
  const stats = await readIfAllowed<{ throughput: Throughput }>(`admin/stats?queue=${encodeURIComponent(id)}`);
  const workers = await readIfAllowed<WorkerPage>("admin/workers?limit=200");
  const limits = await readIfAllowed<LimitPage>("rate-limits?limit=100");
  const next = (queue.counts["available"] ?? 0) > 0 ? await readNext(id) : null;
  return { round, queue, recent: stats?.throughput ?? null, next, workers, limits };
}

/** Ask why the next job of a queue waits; null if none does, or the credential may not read jobs. */
async function readNext(queue: string): Promise<Next | null> {
  const found = await readIfAllowed<JobPage>(`admin/jobs?state=available&order=asc&limit=1&queue=${encodeURIComponent(queue)}`);
  const id = found?.items[0]?.id;
  return id ? { id, why: await readWhy(id) } : null;
}

const PURGED = STATES.filter((state) => state !== "active");

export function Queue({ id }: { id: string }) {
  const loaded = useData<Everything>((before, isAsked) => load(id, before, isAsked), 10, `queue ${id}`);
  const { data: found } = loaded;
  if (!found) return <Heading text={`Queue ${id}`} of={loaded} />;
  const { queue: data, next } = found;
  const [rates, window] = found.recent ? [found.recent, "5 min"] : [data.throughput, "1 h"];
  const isOpen = data.state === "active";
  return (
    <>
      <Heading text={`Queue ${id}`} of={loaded}>
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
      <Interrupted />
      <Facts
        facts={[
          ["State", <State name={data.state} />],
          ["Oldest available job", <Time at={data.oldest_available_at} />],
          ["Time to empty", timeToEmpty(data.counts["available"] ?? 0, rates)],
          [`Enqueued a minute, last ${window}`, rates.enqueued_per_minute],
          [`Completed a minute, last ${window}`, completedRate(rates)],
          [`Failed attempts a minute, last ${window}`, failureRate(rates)],
          ["Wait, last hour: median, 95 %, 99 %", spreadText(data.latency_ms)],
          ["Run, last hour: median, 95 %, 99 %", spreadText(data.duration_ms)],
          ["Workers", <WorkersOf queue={id} page={found.workers} />],
          ["Limits", <LimitsOf queue={id} page={found.limits} />],
        ]}
      />
      {next && (
        <>
          <h2>Why its next job waits</h2>
          <Reasons why={next.why} queue={id} />
          <p class="quiet">The next job: <JobLink id={next.id} /></p>
        </>
      )}
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
      <p class="quiet">The names are those of the API and of <code>ojs-aws queues configure</code>; times without a unit are seconds.</p>
      <Facts facts={Object.entries(data.config).map(([name, value]) => [name, settingText(value)] as const)} />
    </>
  );
}

const NAMED = 5;

/** The workers that serve a queue and send heartbeats. */
function WorkersOf({ queue, page }: { queue: string; page: WorkerPage | null }) {
  const serving = (page?.items ?? []).filter((worker) => worker.queues?.includes(queue));
  if (serving.length === 0) return <>none sends heartbeats{page?.pagination.has_more ? " among the first 200" : ""}</>;
  return <><a href={link(["workers"], { queue })}>{serving.slice(0, NAMED).map((worker) => worker.id).join(", ")}</a>{serving.length > NAMED && ` and ${serving.length - NAMED} more`}</>;
}

/** The limits of a queue, with what is used of each. */
function LimitsOf({ queue, page }: { queue: string; page: LimitPage | null }) {
  const own = (page?.items ?? []).filter(({ key }) => key === `queue:${queue}` || key.startsWith(`queue:${queue}:`));
  if (own.length === 0) return <>none{page?.pagination.has_more ? " among the first 100" : ""}</>;
  return <>{own.map((limit) => <div key={limit.key}><a href={link(["limits"])}>{limit.key}</a>: {usedOf(limit)}</div>)}</>;
}

/** Return how long these rates take to end the jobs that wait. */
function timeToEmpty(waiting: number, rates: Throughput): string {
  const { processed_per_minute: ended, enqueued_per_minute: arrived } = rates;
  if (waiting === 0) return "no job waits";
  const ms = timeToEmptyMs(waiting, rates);
  return ms === null ? `never at this pace: ${arrived} jobs a minute arrive, and ${ended} end` : `${duration(ms)} at this pace`;
}

/** Return a setting without the signs of JSON. */
function settingText(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.join(", ") || "-";
  if (typeof value !== "object") return String(value);
  return Object.entries(value).map(([name, each]) => `${name}: ${settingText(each)}`).join(", ") || "-";
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
