// The first view: jobs by state, what happened in the last hour, and the queues.

import { link } from "../address";
import { read } from "../api";
import { Facts, Heading, QueueLink, State, Time, atLeast } from "../parts";
import { useData } from "../polling";
import { type Counts, STATES, type Spread, type Throughput, completedRate, failureRate } from "../shapes";
import { Table } from "../table";
import { duration, exactTime, measured, spreadText, zone } from "../times";
import { type Findings, FindingsPanel } from "./findings";

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

interface BusyQueue extends Times {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: Counts;
  readonly oldest_available_at?: string;
  readonly throughput: Throughput;
}

interface Numbers {
  readonly totals: Totals;
  /** The queues with the most available jobs first. */
  readonly queues: readonly BusyQueue[];
  readonly has_more: boolean;
  /** The longest waiting job of all queues, as the last sweep found it. */
  readonly oldest_available_at?: string;
  readonly oldest_available_queue?: string;
  readonly events?: { readonly last_at: string; readonly lag_ms: number };
  readonly sweep?: { readonly status: string; readonly last_run_at: string; readonly lag_ms: number };
}

interface Period extends Times {
  readonly timestamp: string;
  readonly enqueued: number;
  readonly completed: number;
  /** For good; those that are repeated are `retried`. */
  readonly failed: number;
  readonly retried: number;
  readonly avg_wait_ms: number | null;
  readonly avg_duration_ms: number | null;
}

interface Everything {
  readonly numbers: Numbers;
  readonly history: readonly Period[];
  readonly found: Findings;
  readonly round: number;
}

const SHOWN = ["available", "active", "retryable", "discarded"] as const;

/** The last hour and the findings change slowly: they are not read with every round. */
const EVERY_S = 10;
const HISTORY_EVERY = 3;
const FINDINGS_EVERY = 6;

async function load(before: Everything | null, isAsked: boolean): Promise<Everything> {
  const round = (before?.round ?? -1) + 1;
  const numbers = await read<Numbers>("admin/overview");
  const isDue = (every: number): boolean => isAsked || round % every === 0;
  const found = before && !isDue(FINDINGS_EVERY) ? before.found : await read<Findings>("admin/findings");
  const history = before && !isDue(HISTORY_EVERY) ? before.history : (await read<{ data: Period[] }>("admin/stats/history?period=5m")).data;
  return { numbers, history, found, round };
}

export function Overview() {
  const loaded = useData(load, EVERY_S, "overview");
  const heading = <Heading text="Overview" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const { totals, queues, has_more: hasMore } = data.numbers;
  const workers = totals.workers_by_state;
  return (
    <>
      {heading}
      <FindingsPanel found={data.found} />
      <h2>Jobs by state</h2>
      <ul class="tiles">
        {STATES.map((state) => (
          <li key={state}>
            <a href={link(["jobs"], { state })}><State name={state} /></a>
            <span class="count">{(totals.jobs[state] ?? 0).toLocaleString("en")}</span>
          </li>
        ))}
      </ul>
      <p class="quiet">
        Of the discarded ones, {(totals.jobs["dead_letter"] ?? 0).toLocaleString("en")} are kept as <a href={link(["dead-letters"])}>dead letters</a>, because their retry policy says so.
      </p>
      {!totals.is_exact && <p class="quiet">These totals follow the jobs within seconds. Counted <Time at={totals.computed_at} />.</p>}
      <h2>Now</h2>
      <Facts
        facts={[
          ["Enqueued a minute, last 5 min", totals.throughput.enqueued_per_minute],
          ["Completed a minute, last 5 min", completedRate(totals.throughput)],
          ["Failed attempts a minute, last 5 min", failureRate(totals.throughput)],
          ["Wait: median, 95 %, 99 %", spreadText(totals.latency_ms)],
          ["Run: median, 95 %, 99 %", spreadText(totals.duration_ms)],
          ["Oldest available job", <Oldest numbers={data.numbers} />],
          ["Queues", `${totals.queues} (${totals.queues_paused} paused)`],
          ["Workers", <a href={link(["workers"])}>{`${workers["total"] ?? 0} (${workers["quiet"] ?? 0} quiet, ${workers["stale"] ?? 0} stale)`}</a>],
          ...lagFacts(data.numbers),
        ]}
      />
      <p class="quiet">Waits and runs are those of the last five to ten minutes.</p>
      <History periods={data.history} />
      <h2>Queues</h2>
      <BusyQueues queues={queues} />
      <p class="quiet">{hasMore ? "The busiest queues; " : ""}<a href={link(["queues"])}>all queues, to pause and resume them</a></p>
    </>
  );
}

/** The queue whose oldest job waits longest; the sweep finds it each minute. */
function Oldest({ numbers }: { numbers: Numbers }) {
  const { oldest_available_at: at, oldest_available_queue: queue } = numbers;
  return at && queue ? <><Time at={at} /> in <QueueLink name={queue} /></> : <>none, at the last sweep</>;
}

/** How late the sweep and the events are. */
function lagFacts({ sweep, events }: Numbers) {
  return [
    ["Last sweep", sweep ? <><Time at={sweep.last_run_at} />, {duration(sweep.lag_ms)} behind {sweep.status === "late" && <State name="late" />}</> : "none yet"],
    ["Last events", events ? <><Time at={events.last_at} />, {duration(events.lag_ms)} behind</> : "none yet"],
  ] as const;
}

/** The queues by their totals, which follow the jobs; the view of queues counts them. */
function BusyQueues({ queues }: { queues: readonly BusyQueue[] }) {
  return (
    <Table
      label="Queues"
      rows={queues}
      nameOf={(queue) => queue.name}
      none="There are no queues yet. The first job of a queue creates it."
      columns={[
        { name: "Queue", show: (queue) => <QueueLink name={queue.name} /> },
        { name: "State", show: (queue) => <State name={queue.paused ? "paused" : "active"} /> },
        ...SHOWN.map((state) => ({
          name: state,
          isNumber: true,
          show: (queue: BusyQueue) => <a href={link(["jobs"], { queue: queue.name, state })}>{(queue.counts[state] ?? 0).toLocaleString("en")}</a>,
        })),
        { name: "Oldest available", show: (queue) => <Time at={queue.oldest_available_at} /> },
        { name: "In a min", isNumber: true, show: (queue) => queue.throughput.enqueued_per_minute },
        { name: "Done a min", isNumber: true, show: (queue) => completedRate(queue.throughput) },
        { name: "Failed a min", isNumber: true, show: (queue) => failureRate(queue.throughput) },
        { name: "Wait 95 %", isNumber: true, show: (queue) => measured(queue.latency_ms.p95) },
        { name: "Run 95 %", isNumber: true, show: (queue) => measured(queue.duration_ms.p95) },
      ]}
    />
  );
}

/** What a bar of the chart stands for, exactly. */
function barText(period: Period): string {
  return `Five minutes from ${exactTime(period.timestamp, zone.value)}: ${period.completed} completed, ${period.failed + period.retried} attempts failed, ${period.enqueued} enqueued`;
}

function History({ periods }: { periods: readonly Period[] }) {
  const failures = (each: Period): number => each.failed + each.retried;
  const most = Math.max(1, ...periods.map((each) => each.completed + failures(each)));
  const width = 100 / Math.max(1, periods.length);
  const finished = periods.reduce((sum, each) => sum + each.completed, 0);
  const failed = periods.reduce((sum, each) => sum + failures(each), 0);
  return (
    <>
      <h2>The last hour</h2>
      <p>{atLeast(finished, true)} completed, {atLeast(failed, true)} attempts failed.</p>
      <svg class="chart" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="Jobs completed and attempts failed in each five minutes; the table below has the numbers">
        {periods.map((each, index) => {
          const good = (each.completed / most) * 23;
          // A few failures among many jobs must be seen, too.
          const bad = failures(each) > 0 ? Math.max(0.8, (failures(each) / most) * 23) : 0;
          return (
            <g key={each.timestamp}>
              <title>{barText(each)}</title>
              <rect class="hit" x={index * width} y={0} width={width} height={24} />
              <rect class="good" x={index * width} y={24 - good} width={width * 0.8} height={good} />
              <rect class="bad" x={index * width} y={24 - good - bad} width={width * 0.8} height={bad} />
            </g>
          );
        })}
      </svg>
      <p class="chart-axis" aria-hidden="true">
        {periods.length > 0 && <><Time at={periods[0]?.timestamp} /><span>highest bar: {most.toLocaleString("en")} in five minutes; ✓ completed below, ✕ failed attempts on top</span><span>now</span></>}
      </p>
      <details>
        <summary>As a table</summary>
        <Table
          label="The last hour"
          rows={periods}
          nameOf={(each) => each.timestamp}
          none="Nothing happened."
          columns={[
            { name: "Five minutes from", show: (each) => <Time at={each.timestamp} /> },
            { name: "Enqueued", isNumber: true, show: (each) => each.enqueued },
            { name: "Completed", isNumber: true, show: (each) => each.completed },
            { name: "Failed attempts", isNumber: true, show: failures },
            { name: "Mean wait", isNumber: true, show: (each) => measured(each.avg_wait_ms) },
            { name: "Wait 95 %", isNumber: true, show: (each) => measured(each.latency_ms.p95) },
            { name: "Mean run", isNumber: true, show: (each) => measured(each.avg_duration_ms) },
            { name: "Run 95 %", isNumber: true, show: (each) => measured(each.duration_ms.p95) },
          ]}
        />
      </details>
    </>
  );
}
