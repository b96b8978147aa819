// Dead letters: jobs that failed for good and are kept. Replayed with the same arguments, or deleted.

import { useState } from "preact/hooks";
import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link, open, queryText } from "../address";
import { call, read, readIfAllowed } from "../api";
import { Chips, FilterForm } from "../chips";
import { Menu, copyCommand } from "../menu";
import { Card, Empty, ErrorText, Heading, JobLink, QueueLink, StaleNote, Time, TypeLink, Waiting, atLeast, capital } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Counts, Failure, Pagination } from "../shapes";
import { Table } from "../table";
import { spelled } from "../times";
import { noteCount } from "../totals";
import { replayAll } from "./bulk_changes";
import { deleteDeadLetter, editAndReplay } from "./dead_letter_actions";
import { Interrupted } from "./interrupted";

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
  readonly stats: { readonly total: number; readonly total_is_exact: boolean; readonly by_error_type: Counts; readonly by_queue: Counts; readonly sampled?: number; readonly oldest_at: string | null; readonly retention?: { readonly max_age: string } } | null;
}

type Filter = Readonly<Partial<Record<"queue" | "type" | "error_type", string>>>;

const FILTER = [["queue", "Queue", "any"], ["type", "Type", "any"], ["error_type", "Error type", "any"]] as const;

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
      {data ? <><StaleNote error={error} /><Found data={data} filter={filter} cursor={cursor} /></> : <Waiting error={error} />}
    </>
  );
}

function FilterChips({ filter }: { filter: Filter }) {
  const set = FILTER.flatMap(([name, label]) => (filter[name] ? [[label, filter[name], link(["dead-letters"], { ...filter, [name]: undefined })] as const] : []));
  return (
    <div class="chips">
      <Chips set={set} label="Filter by queue, type or error" form={(close) => <Form filter={filter} close={close} />} />
      <div class="end">Newest first</div>
    </div>
  );
}

function Form({ filter, close }: { filter: Filter; close: () => void }) {
  const [draft, setDraft] = useState(filter);
  return <FilterForm fields={FILTER} draft={draft} change={setDraft} submit={() => { close(); open(["dead-letters"], { ...draft }); }} />;
}

/** The largest groups of dead letters, each a link to them. */
function Facet({ title, note, name, counts }: { title: string; note?: string; name: "queue" | "error_type"; counts: Counts }) {
  const found = Object.entries(counts).sort(([, one], [, other]) => (other ?? 0) - (one ?? 0)).slice(0, 3);
  const most = Math.max(1, ...found.map(([, count]) => count ?? 0));
  return (
    <Card title={title} note={note}>
      {found.length === 0 && <p class="quiet">None.</p>}
      <ul class="bars">
        {found.map(([value, count = 0]) => (
          <li key={value}>
            <a href={link(["dead-letters"], { [name]: value })}>{value}</a>
            <svg class="st-discarded" viewBox="0 0 72 6" preserveAspectRatio="none" aria-hidden="true"><rect class="base" width="72" height="6" /><rect width={(72 * count) / most} height="6" /></svg>
            <span class="count">{count.toLocaleString("en")}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Found({ data, filter, cursor }: { data: Everything; filter: Filter; cursor: string }) {
  const { page, stats } = data;
  const next = page.pagination.next_cursor;
  const isFiltered = Object.keys(filter).length > 0;
  if (stats) noteCount("dead-letters", stats.total);
  return (
    <>
      <Interrupted />
      {stats && (
        <div class="thirds">
          <Card title={capital(`${atLeast(stats.total, stats.total_is_exact)} dead letter${stats.total === 1 ? "" : "s"}`)}>
            <p>{stats.oldest_at ? <>The oldest failed <Time at={stats.oldest_at} />.</> : "Jobs that failed for good are kept here, if their retry policy says so."} {stats.retention && `They are kept for ${spelled(stats.retention.max_age)}, then removed.`}</p>
            {stats.total > 0 && (page.jobs.length > 0 || next) && (
              <div class="buttons">
                <ActionButton isSmall={false} isMain icon="retryable" label={isFiltered ? "Replay all that match …" : `Replay all ${atLeast(stats.total, stats.total_is_exact)} …`} action={() => replayAll(filter)} />
                {!isFiltered && <span class="quiet">Choose an error or a queue to replay one cause.</span>}
              </div>
            )}
          </Card>
          <Facet title="By error" note={(stats.sampled ?? stats.total) < stats.total ? `of the newest ${stats.sampled}` : ""} name="error_type" counts={stats.by_error_type} />
          <Facet title="By queue" name="queue" counts={stats.by_queue} />
        </div>
      )}
      <FilterChips filter={filter} />
      <Table
        label="Dead letters"
        rows={page.jobs}
        nameOf={(job) => job.id}
        none={isFiltered ? <Empty title="No dead letter matches."><p><a href={link(["dead-letters"])}>All dead letters</a></p></Empty> : <Empty title="There are no dead letters here."><p>A job becomes one if its last attempt fails, and its retry policy has <code>on_exhaustion: dead_letter</code>.</p></Empty>}
        columns={[
          { name: "Type", kind: "name", show: (job) => <TypeLink id={job.id} type={job.type} /> },
          { name: "Id", kind: "id", show: (job) => <JobLink id={job.id} /> },
          { name: "Queue", kind: "fact", show: (job) => <QueueLink name={job.queue} /> },
          { name: "Error", kind: "error", show: (job) => <ErrorText error={job.error} /> },
          { name: "Attempts", isNumber: true, from: 900, show: (job) => job.total_attempts ?? "–" },
          { name: "Discarded", isNumber: true, show: (job) => <Time at={job.discarded_at} /> },
          {
            name: "Change",
            kind: "actions",
            show: (job) => (
              <div class="buttons">
                <ActionButton action={() => replay(job.id)} />
                <Menu
                  label={`More for ${job.id.slice(-6)}`}
                  items={[
                    { label: "Edit and replay …", icon: "edit", action: () => editAndReplay(job.id) },
                    copyCommand(ojsAws("dead-letter", "retry", job.id)),
                    { label: "Delete …", icon: "trash", action: () => deleteDeadLetter(job.id), isDangerous: true },
                  ]}
                />
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
