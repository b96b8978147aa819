// The list of queues with what each holds.

import { address, link } from "../address";
import { ActionButton } from "../action";
import { Heading, QueueLink, State, Time, atLeast } from "../parts";
import { useData } from "../polling";
import { type QueuePace, type QueueRow, timeToEmptyMs } from "../shapes";
import { type Column, Table } from "../table";
import { duration } from "../times";
import { queueChange } from "./queue_actions";
import { type CountedQueues, countQueues } from "./queue_counts";

export function Queues() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData<CountedQueues>((before, isAsked) => countQueues(before ?? undefined, isAsked, cursor), 15, `queues ${cursor}`);
  return <><Heading text="Queues" of={loaded} />{loaded.data && <QueueTable counted={loaded.data} />}</>;
}

const SHOWN = ["available", "active", "scheduled", "retryable", "discarded"] as const;

/** The queues of a page; a count is a link to its jobs. */
function QueueTable({ counted }: { counted: CountedQueues }) {
  const { page } = counted;
  const next = page.pagination.next_cursor;
  return (
    <>
      <Table
        label="Queues"
        rows={page.items}
        nameOf={(queue) => queue.name}
        none="There are no queues yet. The first job of a queue creates it."
        columns={[
          { name: "Queue", show: (queue) => <QueueLink name={queue.name} /> },
          { name: "State", show: (queue) => <State name={queue.state} /> },
          ...SHOWN.map((state) => ({
            name: state,
            isNumber: true,
            show: (queue: QueueRow) => <a href={link(["jobs"], { queue: queue.name, state })}>{count(queue, state)}</a>,
          })),
          { name: "Oldest", show: (queue) => <Time at={counted.pace[queue.name]?.oldest_available_at} /> },
          ...rates(counted.pace),
          {
            name: "Change",
            show: (queue) => <ActionButton action={() => queueChange(queue.name, queue.state === "active" ? "pause" : "resume")} />,
          },
        ]}
      />
      <p class="quiet">Counted <Time at={counted.countedAt} />. Long queues are counted less often; Refresh counts at once. Oldest: the longest wait of an available job at the last sweep. The rates are those of the last five minutes.</p>
      {next && <p><a href={link(["queues"], { cursor: next })}>Next queues</a></p>}
    </>
  );
}

/** What came in and went out, and how long it takes to empty a queue at this pace. */
function rates(pace: CountedQueues["pace"]): Column<QueueRow>[] {
  return [
    { name: "In a min", isNumber: true, show: ({ name }) => pace[name]?.throughput.enqueued_per_minute ?? "-" },
    { name: "Out a min", isNumber: true, show: ({ name }) => pace[name]?.throughput.processed_per_minute ?? "-" },
    { name: "Empty in", isNumber: true, show: (queue) => emptyIn(queue, pace[queue.name]) },
  ];
}

function emptyIn(queue: QueueRow, pace: QueuePace | undefined): string {
  const available = queue.counts["available"] ?? 0;
  if (available === 0 || !pace) return "-";
  const ms = timeToEmptyMs(available, pace.throughput);
  return ms === null ? "never" : duration(ms);
}

function count(queue: QueueRow, state: string): string {
  return atLeast(queue.counts[state] ?? 0, !queue.estimated.includes(state));
}
