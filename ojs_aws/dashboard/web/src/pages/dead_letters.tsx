// Dead letters: jobs that failed for good and are kept. Replayed with the same arguments, or deleted.

import { useState } from "preact/hooks";
import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link, open, queryText } from "../address";
import { call, read, readIfAllowed } from "../api";
import { Facts, Heading, JobLink, QueueLink, StaleNote, Time, Waiting, atLeast } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Counts, Failure, Pagination } from "../shapes";
import { Table } from "../table";
import { deleteDeadLetter, editAndReplay } from "./dead_letter_actions";

interface DeadLetter {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly discarded_at?: string;
  readonly total_attempts?: number;
  readonly error?: Failure;
}

interface Everything {
  readonly page: { readonly jobs: readonly DeadLetter[]; readonly pagination: Pagination };
  /** Null where the credential may not read numbers: it is bound to job types. */
  readonly stats: { readonly total: number; readonly total_is_exact: boolean; readonly by_error_type: Counts; readonly by_queue: Counts; readonly oldest_at: string | null } | null;
}

type Filter = Readonly<Partial<Record<"queue" | "type" | "error_type", string>>>;

const FILTER = [["queue", "Queue"], ["type", "Type"], ["error_type", "Error type"]] as const;

export function DeadLetters() {
  const query = address.value.query;
  const filter: Filter = Object.fromEntries(FILTER.map(([name]) => [name, query.get(name) ?? ""]).filter(([, value]) => value));
  const cursor = query.get("cursor") ?? "";
  const path = `dead-letter${queryText({ ...filter, cursor, limit: "50" })}`;
  const load = async (): Promise<Everything> => ({
    page: await read<Everything["page"]>(path),
    stats: await readIfAllowed<NonNullable<Everything["stats"]>>("dead-letter/stats"),
  });
  const { data, error } = useData(load, 15, path);
  return (
    <>
      <Heading text="Dead letters" />
      <FilterForm key={queryText(filter)} filter={filter} />
      {data ? <><StaleNote error={error} /><Found data={data} filter={filter} cursor={cursor} /></> : <Waiting error={error} />}
    </>
  );
}

function FilterForm({ filter }: { filter: Filter }) {
  const [draft, setDraft] = useState(filter);
  return (
    <form class="filter" aria-label="Filter" onSubmit={(event) => { event.preventDefault(); open(["dead-letters"], { ...draft }); }}>
      {FILTER.map(([name, label]) => (
        <label key={name}>
          {label}
          <input value={draft[name] ?? ""} placeholder="any" spellcheck={false} onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value.trim() })} />
        </label>
      ))}
      <button type="submit" class="main">Show</button>
    </form>
  );
}

function Found({ data, filter, cursor }: { data: Everything; filter: Filter; cursor: string }) {
  const { page, stats } = data;
  const next = page.pagination.next_cursor;
  return (
    <>
      {stats && <Facts
        facts={[
          ["Dead letters", atLeast(stats.total, stats.total_is_exact)],
          ["Oldest", <Time at={stats.oldest_at} />],
          ["Most frequent errors", most(stats.by_error_type)],
          ["Most affected queues", most(stats.by_queue)],
        ]}
      />}
      <Table
        label="Dead letters"
        rows={page.jobs}
        nameOf={(job) => job.id}
        none="There are no dead letters here."
        columns={[
          { name: "Job", show: (job) => <JobLink id={job.id} /> },
          { name: "Type", show: (job) => job.type },
          { name: "Queue", show: (job) => <QueueLink name={job.queue} /> },
          { name: "Attempts", isNumber: true, show: (job) => job.total_attempts ?? "-" },
          { name: "Discarded", show: (job) => <Time at={job.discarded_at} /> },
          { name: "Error", show: (job) => [job.error?.type, job.error?.message].filter(Boolean).join(": ").slice(0, 100) },
          {
            name: "Change",
            show: (job) => (
              <div class="buttons">
                <ActionButton action={() => replay(job.id)} />
                <ActionButton label="Edit …" action={() => editAndReplay(job.id)} />
                <ActionButton action={() => deleteDeadLetter(job.id)} />
              </div>
            ),
          },
        ]}
      />
      <div class="buttons">
        {cursor && <a href={link(["dead-letters"], filter)}>First page</a>}
        {next && <a href={link(["dead-letters"], { ...filter, cursor: next })}>Next page</a>}
      </div>
    </>
  );
}

function most(counts: Counts): string {
  const found = Object.entries(counts).sort(([, one], [, other]) => (other ?? 0) - (one ?? 0)).slice(0, 3);
  return found.map(([name, count]) => `${name} (${count})`).join(", ") || "-";
}

function replay(id: string): Action {
  return {
    title: "Replay this dead letter?",
    explanation: "The job is enqueued again with attempt 0 and the same arguments. Its old errors are kept apart.",
    command: ojsAws("dead-letter", "retry", id),
    verb: "Replay",
    run: async () => {
      await call("POST", `dead-letter/${id}/retry`);
      return `The job ${id} is available again.`;
    },
  };
}
