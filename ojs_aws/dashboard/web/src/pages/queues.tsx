// The list of queues with what each holds.

import { address, link } from "../address";
import { ActionButton } from "../action";
import { RANGES } from "../history";
import { Menu, copyCommand } from "../menu";
import { Empty, Heading, QueueLink, Time, atLeast, counted, shortCount } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { type QueuePace, type QueueRow, timeToEmptyMs } from "../shapes";
import { type Column, Table } from "../table";
import { duration, earlierFirst, measured, rough, serverNow } from "../times";
import { queueChange } from "./queue_actions";
import { worstFirst } from "./overview";
import { type CountedQueues, countQueues } from "./queue_counts";
import { QueueState, Trend, backlogColumn } from "./trend";

export function Queues() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData<CountedQueues>((before, isAsked) => countQueues(before ?? undefined, isAsked, cursor), 15, `queues ${cursor}`);
  const { data } = loaded;
  return (
    <>
      <Heading text="Queues" of={loaded} />
      {data && <AllQueues pace={Object.values(data.pace)} />}
      {data && <QueueTable counted={data} />}
    </>
  );
}

/** What all queues hold, and whether it becomes more. */
function AllQueues({ pace }: { pace: readonly QueuePace[] }) {
  if (pace.length === 0) return null;
  const sum = (count: (queue: QueuePace) => number): number => pace.reduce((total, queue) => total + count(queue), 0);
  const waiting = (queue: QueuePace): number => queue.counts["available"] ?? 0;
  const [first] = [...pace].sort((one, other) => earlierFirst(one.oldest_available_at, other.oldest_available_at));
  const oldest = first?.oldest_available_at;
  const tiles = [
    ["Waiting", shortCount(sum(waiting)), "", `in ${pace.filter(waiting).length} of ${counted(pace.length, "queue")}`],
    ["Active", shortCount(sum((queue) => queue.counts["active"] ?? 0)), "", "\u00a0"],
    ["In", short(sum((queue) => queue.throughput.enqueued_per_minute)), "/ min", "last 5 min"],
    ["Out", short(sum((queue) => queue.throughput.processed_per_minute)), "/ min", "last 5 min"],
    ["Longest wait", oldest ? rough(serverNow() - Date.parse(oldest)) : "–", "", oldest ? `in ${first.name}, at the last sweep` : "at the last sweep"],
  ] as const;
  return (
    <dl class="strip" aria-label="All queues together">
      {tiles.map(([name, value, unit, remark]) => <div key={name}><dt>{name}</dt><dd class="count">{value} <small>{unit}</small></dd><dd class="remark quiet">{remark}</dd></div>)}
    </dl>
  );
}

/** Return the queues of a page, those that grow and wait longest first. */
function sorted({ page, pace }: CountedQueues): readonly QueueRow[] {
  const order = worstFirst(Object.values(pace)).map((each) => each.name);
  const rank = (queue: QueueRow): number => (order.includes(queue.name) ? order.indexOf(queue.name) : order.length);
  return [...page.items].sort((one, other) => rank(one) - rank(other));
}

function stateOf(queue: QueueRow): string {
  return queue.state === "active" ? "open" : queue.state;
}

/** What is done with a queue: one button, and a menu. */
function Actions({ queue }: { queue: QueueRow }) {
  const change = queue.state === "active" ? "pause" : "resume";
  return (
    <div class="buttons">
      <ActionButton action={() => queueChange(queue.name, change)} />
      <Menu
        label={`More for ${queue.name}`}
        items={[
          ...(queue.state === "active" ? [{ label: "Drain …", icon: "draining" as const, action: () => queueChange(queue.name, "drain") }] : []),
          copyCommand(ojsAws("queues", "show", queue.name)),
        ]}
      />
    </div>
  );
}

/** The queues of a page; a count is a link to its jobs. */
function QueueTable({ counted: found }: { counted: CountedQueues }) {
  const { page } = found;
  const next = page.pagination.next_cursor;
  const pace = (queue: QueueRow) => {
    const rates = found.pace[queue.name]?.throughput;
    return rates && <Trend rates={rates} waiting={queue.counts["available"] ?? 0} />;
  };
  return (
    <>
      <Table
        label="Queues"
        rows={sorted(found)}
        nameOf={(queue) => queue.name}
        none={<Empty title="There are no queues yet."><p>The first job of a queue creates it. <a href={link([])}>How to send one</a></p></Empty>}
        columns={[
          { name: "Queue", kind: "name", show: (queue) => <QueueLink name={queue.name} /> },
          { name: "State", kind: "state", show: (queue) => <QueueState queue={queue} name={stateOf(queue)} /> },
          backlogColumn<QueueRow>(found.growth, ({ name }) => found.pace[name], RANGES[0].name),
          { name: "Waiting", isNumber: true, show: (queue) => <a href={link(["jobs"], { queue: queue.name, state: "available" })}>{count(queue, "available")}</a> },
          { name: "Trend", kind: "fact", show: (queue) => pace(queue) },
          { name: "Active", isNumber: true, from: 1200, show: (queue) => <a href={link(["jobs"], { queue: queue.name, state: "active" })}>{count(queue, "active")}</a> },
          { name: "Oldest", isNumber: true, show: (queue) => <Time at={found.pace[queue.name]?.oldest_available_at} /> },
          ...rates(found.pace),
          { name: "Change", kind: "actions", show: (queue) => <Actions queue={queue} /> },
        ]}
      />
      <p class="quiet">Counted <Time at={found.countedAt} />. Long queues are counted less often; Refresh counts at once. Oldest: the longest wait of an available job at the last sweep. The rates are those of the last five minutes.</p>
      {next && <p><a href={link(["queues"], { cursor: next })}>Next queues</a></p>}
    </>
  );
}

/** What came in and went out, and how long it takes to empty a queue at this pace. */
function rates(pace: CountedQueues["pace"]): Column<QueueRow>[] {
  return [
    { name: "In / out a min", isNumber: true, from: 900, show: ({ name }) => (pace[name] ? `${short(pace[name].throughput.enqueued_per_minute)} / ${short(pace[name].throughput.processed_per_minute)}` : "–") },
    { name: "Empty in", isNumber: true, from: 900, show: (queue) => emptyIn(queue, pace[queue.name]) },
    { name: "Wait 95 %", isNumber: true, from: 1200, show: ({ name }) => measured(pace[name]?.latency_ms.p95) },
    { name: "Run 95 %", isNumber: true, from: 1200, show: ({ name }) => measured(pace[name]?.duration_ms.p95) },
  ];
}

/** Return a rate; above ten without its fraction. */
function short(rate: number): string {
  return (rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)).toLocaleString("en");
}

function emptyIn(queue: QueueRow, pace: QueuePace | undefined): string {
  const available = queue.counts["available"] ?? 0;
  if (available === 0 || !pace) return "–";
  const ms = timeToEmptyMs(available, pace.throughput);
  return ms === null ? "never" : duration(ms);
}

function count(queue: QueueRow, state: string): string {
  return atLeast(queue.counts[state] ?? 0, !queue.estimated.includes(state));
}
