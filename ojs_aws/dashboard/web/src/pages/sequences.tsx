// The sequences that are stopped on a discarded job: each can go on with that job or without it.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Code, Empty, Heading, JobLink, QueueLink, Time } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Pagination } from "../shapes";
import { Table } from "../table";
import { retryJob } from "./job_actions";

interface SequenceRow {
  readonly key: string;
  readonly tenant_id?: string;
  readonly job_id: string;
  readonly queue?: string;
  readonly type?: string;
  readonly position: number;
  readonly next: number;
  readonly stopped_at: string;
}

interface SequencePage {
  readonly sequences: readonly SequenceRow[];
  readonly pagination: Pagination;
}

export function Sequences() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => read<SequencePage>(`admin/sequences?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 15, `sequences ${cursor}`);
  const heading = <Heading text="Sequences" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const next = data.pagination.next_cursor;
  return (
    <>
      {heading}
      <Table
        label="Stopped sequences"
        rows={data.sequences}
        nameOf={({ key, tenant_id: tenant }) => `${tenant ?? ""}#${key}`}
        none={<Empty title="No sequence is stopped."><p>A sequence stops when a job of it is discarded, unless the job says otherwise. The jobs behind it wait until the sequence goes on.</p><p>In Python, this job waits for all that were enqueued before it with the same key:</p><Code label="A job of a sequence" text={'client.enqueue("order.change", ["address"], sequence="order-4711")'} /></Empty>}
        columns={[
          { name: "Sequence", kind: "name", show: ({ key }) => <span class="name">{key}</span> },
          { name: "Tenant", kind: "fact", from: 900, show: ({ tenant_id: tenant }) => tenant && <a href={link(["tenants", tenant])}>{tenant}</a> },
          { name: "Stopped", isNumber: true, show: ({ stopped_at: at }) => <Time at={at} /> },
          { name: "On job", kind: "id", show: ({ job_id: id }) => <JobLink id={id} /> },
          { name: "Type", kind: "fact", from: 1200, show: ({ type }) => type },
          { name: "Queue", kind: "fact", from: 900, show: ({ queue }) => queue && <QueueLink name={queue} /> },
          { name: "Enqueued behind", isNumber: true, show: ({ next: after, position }) => (after - position - 1).toLocaleString("en") },
          {
            name: "Change", kind: "actions", show: (row) => (
              <div class="buttons">
                <ActionButton action={() => retryJob(row.job_id, "discarded")} />
                <ActionButton action={() => skipped(row)} />
              </div>
            ),
          },
        ]}
      />
      {next && <p><a href={link(["sequences"], { cursor: next })}>Next sequences</a></p>}
    </>
  );
}

/** Let a stopped sequence go on without its discarded job. */
function skipped({ key, tenant_id: tenant, job_id: id }: SequenceRow): Action {
  return {
    title: `Let the sequence ${key} go on?`,
    explanation: `Its next job runs, and job ${id} stays discarded. To keep the order whole, retry that job instead: it runs in its place, and the sequence goes on behind it.`,
    command: ojsAws("sequences", "skip", key, ...(tenant ? ["--tenant", tenant] : [])),
    verb: "Go on",
    run: async () => {
      await call("POST", `admin/sequences/${encodeURIComponent(key)}/skip${tenant ? `?tenant=${encodeURIComponent(tenant)}` : ""}`);
      return `The sequence ${key} goes on.`;
    },
  };
}
