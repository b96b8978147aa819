// The list of queues with what each holds.

import { address, link } from "../address";
import { ActionButton } from "../action";
import { Heading, QueueLink, StaleNote, State, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import type { QueueRow } from "../shapes";
import { Table } from "../table";
import { queueChange } from "./queue_actions";
import { type CountedQueues, countQueues } from "./queue_counts";

export function Queues() {
  const cursor = address.value.query.get("cursor") ?? "";
  const { data, error } = useData<CountedQueues>((before, isAsked) => countQueues(before ?? undefined, isAsked, cursor), 15, `queues ${cursor}`);
  return (
    <>
      <Heading text="Queues" />
      {data ? <><StaleNote error={error} /><QueueTable counted={data} /></> : <Waiting error={error} />}
    </>
  );
}

const SHOWN = ["available", "active", "scheduled", "retryable", "pending", "discarded"] as const;

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
        none="There are no queues yet. The first job of a queue makes it."
        columns={[
          { name: "Queue", show: (queue) => <QueueLink name={queue.name} /> },
          { name: "State", show: (queue) => <State name={queue.state} /> },
          ...SHOWN.map((state) => ({
            name: state,
            isNumber: true,
            show: (queue: QueueRow) => <a href={link(["jobs"], { queue: queue.name, state })}>{count(queue, state)}</a>,
          })),
          {
            name: "Change",
            show: (queue) => <ActionButton action={() => queueChange(queue.name, queue.state === "active" ? "pause" : "resume")} />,
          },
        ]}
      />
      <p class="quiet">Counted <Time at={counted.countedAt} />. Long queues are counted less often; Refresh counts at once.</p>
      {next && <p><a href={link(["queues"], { cursor: next })}>Next queues</a></p>}
    </>
  );
}

function count(queue: QueueRow, state: string): string {
  return atLeast(queue.counts[state] ?? 0, !queue.estimated.includes(state));
}
