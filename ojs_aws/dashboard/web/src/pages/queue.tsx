// One queue: what it holds, how fast it moves, and what can be done with it.

import { useEffect, useRef, useState } from "preact/hooks";
import { ActionButton, ask } from "../action";
import { link } from "../address";
import { read, readIfAllowed } from "../api";
import { HistoryCharts, type Range, historyPath, useRange } from "../history";
import { Icon } from "../icons";
import { Menu, copyCommand } from "../menu";
import { Card, Facts, Heading, JobLink, State, Time, atLeast, shortCount } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { type Counts, type JobPage, type Pagination, type Period, STATES, type Spread, type Throughput, completedRate, failureRate, timeToEmptyMs } from "../shapes";
import { duration, settingText, spreadText } from "../times";
import { type Why, Reasons, readWhy } from "./job_why";
import { type LimitRow, usedOf } from "./limits";
import { EXPLANATIONS, queuePurge } from "./bulk_changes";
import { Interrupted } from "./interrupted";
import { queueChange } from "./queue_actions";
import { Trend } from "./trend";
import { directQueue } from "./workers";

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
  readonly history: readonly Period[];
  /** What the history is of. */
  readonly range: Range;
}

/** All but the queue's own numbers take reads of their own: they come with every third round. */
const MORE_EVERY = 3;

async function load(id: string, before: Everything | null, isAsked: boolean, range: Range): Promise<Everything> {
  const round = (before?.round ?? -1) + 1;
  const queue = await read<QueueDetail>(`admin/queues/${encodeURIComponent(id)}`);
  if (before && !isAsked && round % MORE_EVERY !== 0) return { ...before, round, queue };
  const stats = await readIfAllowed<{ throughput: Throughput }>(`admin/stats?queue=${encodeURIComponent(id)}`);
  const workers = await readIfAllowed<WorkerPage>("admin/workers?limit=200");
  const limits = await readIfAllowed<LimitPage>("rate-limits?limit=100");
  const next = (queue.counts["available"] ?? 0) > 0 ? await readNext(id) : null;
  const isKept = before && before.range === range && round % (MORE_EVERY * range.times) !== 0 && !isAsked;
  const history = isKept ? before.history : ((await readIfAllowed<{ data: Period[] }>(historyPath(range, id)))?.data ?? []);
  return { round, queue, recent: stats?.throughput ?? null, next, workers, limits, history, range };
}

/** Ask why the next job of a queue waits; null if none does, or the credential may not read jobs. */
async function readNext(queue: string): Promise<Next | null> {
  const found = await readIfAllowed<JobPage>(`admin/jobs?state=available&order=asc&limit=1&queue=${encodeURIComponent(queue)}`);
  const id = found?.items[0]?.id;
  return id ? { id, why: await readWhy(id) } : null;
}

const PURGED = STATES.filter((state) => state !== "active");

export function Queue({ id }: { id: string }) {
  const [range, choose] = useRange();
  const [isPurging, setPurging] = useState(false);
  const loaded = useData<Everything>((before, isAsked) => load(id, before, isAsked, range), 10, `queue ${id} ${range.name}`, true);
  const { data: found } = loaded;
  if (!found) return <Heading text={`Queue ${id}`} kind="Queue" of={loaded} />;
  const { queue: data, next } = found;
  const [rates, window] = found.recent ? [found.recent, "5 min"] : [data.throughput, "1 h"];
  const isOpen = data.state === "active";
  return (
    <>
      <Heading text={`Queue ${id}`} kind="Queue" of={loaded} beside={<><State name={isOpen ? "open" : data.state} />{found.recent && <Trend rates={found.recent} waiting={data.counts["available"] ?? 0} />}</>}>
        <ActionButton isSmall={false} icon={isOpen ? "paused" : "active"} action={() => queueChange(id, isOpen ? "pause" : "resume")} />
        <Menu
          items={[
            ...(isOpen ? [{ label: "Drain …", icon: "draining" as const, action: () => queueChange(id, "drain") }] : []),
            { label: "Quiet all workers …", icon: "server", action: () => directQueue(id, "quiet") },
            copyCommand(ojsAws("queues", "show", id)),
            { label: "Purge jobs …", icon: "trash", run: () => setPurging(true), isDangerous: true },
          ]}
        />
      </Heading>
      <Interrupted />
      {isPurging && <Purge queue={id} close={() => setPurging(false)} />}
      <div class="with-rail">
        <div>
          {next && (
            <section class="card why st-available">
              <h2><Icon name="clock" />Why its next job waits</h2>
              <Reasons why={next.why} queue={id} />
              <div class="line quiet"><span>The next job: <JobLink id={next.id} /></span></div>
            </section>
          )}
          <section aria-labelledby="states">
            <h2 id="states" class="unseen">Jobs by state</h2>
            <ul class="strip">
              {STATES.map((state) => (
                <li key={state}>
                  <a href={link(["jobs"], { queue: id, state })}><State name={state} isPlain /></a>
                  <span class="count" title={atLeast(data.counts[state] ?? 0, !data.estimated.includes(state))}>{shortCount(data.counts[state] ?? 0, !data.estimated.includes(state))}</span>
                </li>
              ))}
            </ul>
          </section>
          <HistoryCharts periods={found.history} counts={data.counts} range={range} choose={choose} />
        </div>
        <aside class="rail" aria-label="Facts">
          <Card title="Pace" note={`rates of ${window}, times of 1 h`}>
            <Facts
              facts={[
                ["Oldest", <Time at={data.oldest_available_at} />],
                ["Empty in", timeToEmpty(data.counts["available"] ?? 0, rates)],
                ["In a minute", rates.enqueued_per_minute],
                ["Completed a minute", completedRate(rates)],
                ["Failed a minute", failureRate(rates)],
                ["Wait 50, 95, 99 %", spreadText(data.latency_ms)],
                ["Run 50, 95, 99 %", spreadText(data.duration_ms)],
              ]}
            />
          </Card>
          <Card title="Workers and limits">
            <Facts facts={[["Workers", <WorkersOf queue={id} page={found.workers} />], ["Limits", <LimitsOf queue={id} page={found.limits} />]]} />
          </Card>
          <Card title="Settings">
            <p class="quiet">The names are those of the API and of <code>ojs-aws queues configure</code>.</p>
            <Facts facts={Object.entries(data.config).map(([name, value]) => [name, settingText(name, value)] as const)} />
          </Card>
        </aside>
      </div>
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
  if (waiting === 0) return "no job waits";
  const ms = timeToEmptyMs(waiting, rates);
  return ms === null ? "never at this pace" : `${duration(ms)} at this pace`;
}

/** Asks which jobs are meant; the question about them comes next. */
function Purge({ queue, close }: { queue: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [states, setStates] = useState<readonly string[]>([]);
  useEffect(() => dialog.current?.showModal(), []);
  const toggle = (state: string, isOn: boolean): void => setStates(PURGED.filter((each) => (each === state ? isOn : states.includes(each))));
  const submit = (event: Event): void => {
    event.preventDefault();
    dialog.current?.close();
    ask(queuePurge(queue, states));
  };
  return (
    <dialog ref={dialog} aria-labelledby="purge" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="purge">Purge which jobs of {queue}?</h2>
        <p>{EXPLANATIONS.purge}</p>
        <fieldset>
          <legend>Jobs that are</legend>
          {PURGED.map((state) => (
            <label key={state}>
              <input type="checkbox" checked={states.includes(state)} onChange={(event) => toggle(state, event.currentTarget.checked)} /> {state}
            </label>
          ))}
        </fieldset>
        <div class="buttons foot">
          <button type="button" onClick={() => dialog.current?.close()}>Back</button>
          <button type="submit" disabled={states.length === 0}>Count and purge …</button>
        </div>
      </form>
    </dialog>
  );
}
