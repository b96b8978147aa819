// The first view: what needs attention, jobs by state, what was done, and the worst queues.

import { link } from "../address";
import { read } from "../api";
import { type History, HistoryCharts, type Range, historyPath, useRange } from "../history";
import { Heading, QueueLink, State, Time, Card, counted, shortCount } from "../parts";
import { useData } from "../polling";
import { type Counts, type QueuePace, STATES, type Spread, type Throughput, completedRate, failureRate } from "../shapes";
import { Table } from "../table";
import { duration, earlierFirst, measured, rough, serverNow, spreadText } from "../times";
import { noteFindings, noteOverview } from "../totals";
import { type Findings, FindingsPanel } from "./findings";
import { QueueState, Trend, backlogColumn, isGrowing, isStopped } from "./trend";
import { Welcome } from "./welcome";

/** How long jobs waited and ran. */
interface Times {
  readonly latency_ms: Spread;
  readonly duration_ms: Spread;
}

interface Totals extends Times {
  readonly jobs: Counts;
  readonly queues: number;
  readonly queues_paused: number;
  readonly workers_by_state: Counts;
  readonly throughput: Throughput;
  readonly is_exact: boolean;
  readonly computed_at: string;
}

interface Numbers {
  readonly totals: Totals;
  /** The queues with the most available jobs first. */
  readonly queues: readonly QueuePace[];
  readonly has_more: boolean;
  /** The longest waiting job of all queues, as the last sweep found it. */
  readonly oldest_available_at?: string;
  readonly oldest_available_queue?: string;
  readonly events?: { readonly last_at: string; readonly lag_ms: number };
  readonly sweep?: { readonly status: string; readonly last_run_at: string; readonly lag_ms: number };
}

interface Everything {
  readonly numbers: Numbers;
  readonly history: History;
  /** What the history is of. */
  readonly range: Range;
  readonly found: Findings;
  readonly round: number;
}

/** The last hours and the findings change slowly: they are not read with every round. */
const EVERY_S = 10;
const HISTORY_EVERY = 3;
const FINDINGS_EVERY = 6;
const SHOWN_QUEUES = 5;

async function load(before: Everything | null, isAsked: boolean, range: Range): Promise<Everything> {
  const round = (before?.round ?? -1) + 1;
  const numbers = await read<Numbers>("admin/overview");
  noteOverview(numbers);
  const isDue = (every: number): boolean => isAsked || round % every === 0;
  const found = before && !isDue(FINDINGS_EVERY) ? before.found : await read<Findings>("admin/findings");
  noteFindings(found);
  const isKept = before && before.range === range && !isDue(HISTORY_EVERY * range.times);
  const history = isKept ? before.history : await read<History>(historyPath(range));
  return { numbers, history, range, found, round };
}

export function Overview() {
  const [range, choose] = useRange();
  const loaded = useData<Everything>((before, isAsked) => load(before, isAsked, range), EVERY_S, `overview ${range.name}`, true);
  const heading = <Heading text="Overview" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const { totals } = data.numbers;
  const all = STATES.reduce((sum, state) => sum + (totals.jobs[state] ?? 0), 0);
  const isNew = all === 0 && !data.numbers.events;  // queues are there from the start where some are declared
  return (
    <>
      {heading}
      {isNew && <Welcome workers={totals.workers_by_state["total"] ?? 0} />}
      <FindingsPanel found={data.found} />
      <States numbers={data.numbers} />
      <HistoryCharts periods={data.history.data} counts={totals.jobs} range={range} choose={choose} />
      <WorstQueues numbers={data.numbers} history={data.history} range={data.range} />
      <Now numbers={data.numbers} />
    </>
  );
}

/** The states as tiles, each with what one asks next. */
function States({ numbers: { totals, oldest_available_at: oldest } }: { numbers: Numbers }) {
  const remarks: Readonly<Record<string, string>> = {
    available: oldest ? `oldest ${rough(serverNow() - Date.parse(oldest))}` : "\u00a0",
    active: `${counted(totals.workers_by_state["total"] ?? 0, "worker")}`,
    pending: "in workflows",
    discarded: `${shortCount(totals.jobs["dead_letter"] ?? 0)} dead letters`,
  };
  return (
    <section aria-labelledby="states">
      <h2 id="states" class="unseen">Jobs by state</h2>
      <ul class="strip">
        {STATES.map((state) => (
          <li key={state}>
            <a href={link(["jobs"], { state })}><State name={state} isPlain /></a>
            <span class="count" title={(totals.jobs[state] ?? 0).toLocaleString("en")}>{shortCount(totals.jobs[state] ?? 0)}</span>
            <span class="remark quiet">{remarks[state] ?? "\u00a0"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Queues without workers come first, then those that grow, then those whose jobs wait longest, then the busiest. */
export function worstFirst(queues: readonly QueuePace[]): readonly QueuePace[] {
  const rank = (queue: QueuePace): number => (isStopped(queue) ? 0 : isGrowing(queue) ? 1 : 2);
  return [...queues].sort((one, other) => rank(one) - rank(other) || earlierFirst(one.oldest_available_at, other.oldest_available_at) || other.throughput.enqueued_per_minute - one.throughput.enqueued_per_minute);
}

function WorstQueues({ numbers: { queues, totals, has_more: hasMore, sweep, events }, history, range }: { numbers: Numbers; history: History; range: Range }) {
  const worst = worstFirst(queues).slice(0, SHOWN_QUEUES);
  const lags = (
    <span class="quiet">
      Last sweep {sweep ? <><Time at={sweep.last_run_at} />{sweep.status === "late" && <> <State name="late" /></>}</> : "none yet"} · Last events{" "}
      {events ? <><Time at={events.last_at} />, {duration(events.lag_ms)} behind</> : "none yet"}
    </span>
  );
  return (
    <Card title="Queues" note={`${hasMore || totals.queues > worst.length ? `the worst ${worst.length} of` : `${totals.queues_paused} paused of`} ${totals.queues}, rates of 5 min`} tools={<>{lags}<a class="button" href={link(["queues"])}>All queues</a></>}>
      <Table
        label="Queues"
        rows={worst}
        nameOf={(queue) => queue.name}
        none="There are no queues yet. The first job of a queue creates it."
        columns={[
          { name: "Queue", kind: "name", show: (queue) => <QueueLink name={queue.name} /> },
          { name: "State", kind: "state", show: (queue) => <QueueState queue={queue} name={queue.paused ? "paused" : "open"} /> },
          backlogColumn<QueuePace>(history.growth, (queue) => queue, range.name),
          { name: "Waiting", isNumber: true, show: (queue) => <a href={link(["jobs"], { queue: queue.name, state: "available" })}>{(queue.counts["available"] ?? 0).toLocaleString("en")}</a> },
          { name: "Trend", kind: "fact", show: (queue) => <Trend rates={queue.throughput} waiting={queue.counts["available"] ?? 0} /> },
          { name: "Active", isNumber: true, from: 900, show: (queue) => <a href={link(["jobs"], { queue: queue.name, state: "active" })}>{(queue.counts["active"] ?? 0).toLocaleString("en")}</a> },
          { name: "Oldest", isNumber: true, show: (queue) => <Time at={queue.oldest_available_at} /> },
          { name: "In / min", isNumber: true, from: 900, show: (queue) => queue.throughput.enqueued_per_minute },
          { name: "Done / min", isNumber: true, from: 900, show: (queue) => completedRate(queue.throughput) },
          { name: "Failed / min", isNumber: true, from: 1400, show: (queue) => failureRate(queue.throughput) },
          { name: "Wait 95 %", isNumber: true, from: 900, show: (queue) => measured(queue.latency_ms.p95) },
          { name: "Run 95 %", isNumber: true, from: 1400, show: (queue) => measured(queue.duration_ms.p95) },
        ]}
      />
    </Card>
  );
}

/** The rates and times of all queues together. */
function Now({ numbers: { totals, oldest_available_at: at, oldest_available_queue: queue } }: { numbers: Numbers }) {
  const rates = totals.throughput;
  const facts = [
    ["Enqueued a minute, last 5 min", rates.enqueued_per_minute],
    ["Completed a minute, last 5 min", completedRate(rates)],
    ["Failed attempts a minute, last 5 min", failureRate(rates)],
    ["Wait: median, 95 %, 99 %", spreadText(totals.latency_ms)],
    ["Run: median, 95 %, 99 %", spreadText(totals.duration_ms)],
    ["Oldest available job", at && queue ? <><Time at={at} /> in <QueueLink name={queue} /></> : "none, at the last sweep"],
  ] as const;
  return (
    <Card title="All queues together" note={totals.is_exact ? "" : "Totals follow the jobs within seconds. Waits and runs are those of the last five to ten minutes."}>
      <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </Card>
  );
}
