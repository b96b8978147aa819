// The lifecycle events as they come, the newest first.

import { useRef, useState } from "preact/hooks";
import { address, link, open, queryText } from "../address";
import { call } from "../api";
import { type Source, at, readSource } from "../json_source";
import { shown } from "../bidi";
import { Chips, FilterForm } from "../chips";
import { Icon } from "../icons";
import { Code, Empty, Heading, Id, QueueLink, StaleNote, Time, Waiting } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { Table } from "../table";

interface LogEvent {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly subject?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface EventPage {
  readonly events: readonly LogEvent[];
  readonly cursor: string;
  readonly has_more: boolean;
  /** Of the newest events: there may be wanted ones before them. */
  readonly has_earlier?: boolean;
}

interface Row {
  readonly event: LogEvent;
  /** What the event says, as it was published. */
  readonly text: string;
}

interface Tail {
  readonly rows: readonly Row[];
  readonly cursor: string;
  readonly hasEarlier: boolean;
}

type Filter = Readonly<Partial<Record<"types" | "queue" | "job_id" | "heartbeats", string>>>;

/** All events but heartbeats and reports of progress, which come every few seconds from each worker. */
const USUAL = [
  "job.enqueued", "job.scheduled", "job.started", "job.completed", "job.failed", "job.retrying", "job.discarded", "job.cancelled", "job.expired",
  "worker.started", "worker.stopped", "worker.quiet", "worker.directed",
  ...["queue", "cron", "workflow", "schema", "priority", "backpressure", "bulk", "rate_limit"].map((family) => `${family}.*`),
].join(",");

const FILTER = [["types", "Type", "job.failed or job.*"], ["queue", "Queue", "any"], ["job_id", "Job id", "any"]] as const;
/** The views of what events are about; their subject is its name or id. */
const VIEW_OF: Readonly<Record<string, string>> = { job: "jobs", workflow: "workflows", cron: "cron", queue: "queues" };
const PAGE_SIZE = 100;
/** Pages of one round: somebody who comes back after a while catches up in steps. */
const PAGES = 5;
const KEPT = 300;
const EVERY_S = 5;
const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

async function load(filter: Filter, before: Tail | null): Promise<Tail> {
  let { rows, cursor, hasEarlier } = before ?? { rows: [], cursor: "", hasEarlier: false };
  for (let page = 0; page < PAGES; page += 1) {
    const { heartbeats, ...wanted } = filter;
    const types = filter.types || (heartbeats ? "" : USUAL);
    const { value, text } = await call<EventPage>("GET", `events${queryText({ ...wanted, types, cursor, limit: String(PAGE_SIZE) })}`);
    const sources = at(readSource(text), "events")?.items ?? [];
    rows = [...value.events.map((event, index) => ({ event, text: dataOf(sources[index]) })).reverse(), ...rows].slice(0, KEPT);
    cursor = value.cursor;
    hasEarlier ||= value.has_earlier ?? false;
    if (!value.has_more) break;
  }
  return { rows, cursor, hasEarlier };
}

function dataOf(source: Source | undefined): string {
  return (source && at(source, "data")?.text) ?? "{}";
}

export function Events() {
  const query = address.value.query;
  const filter: Filter = Object.fromEntries([...FILTER.map(([name]) => name), "heartbeats"].map((name) => [name, query.get(name) ?? ""]).filter(([, value]) => value));
  const key = `events ${queryText(filter)}`;
  return <EventTail key={key} name={key} filter={filter} />;
}

function EventTail({ name, filter }: { name: string; filter: Filter }) {
  const { data, error } = useData<Tail>((before) => load(filter, before), EVERY_S, name);
  const [isHeld, setHeld] = useState(false);
  const held = useRef<readonly Row[]>([]);
  if (data && !isHeld) held.current = data.rows;
  const first = held.current[0]?.event.id;
  const missed = data ? data.rows.findIndex((row) => row.event.id === first) : 0;
  const words = FILTER.flatMap(([each]) => (filter[each] ? [`--${OPTIONS[each]}`, filter[each]] : []));
  return (
    <>
      <Heading text="Events" />
      <div class="chips">
        <Chips
          set={FILTER.flatMap(([each, label]) => (filter[each] ? [[label, filter[each], link(["events"], { ...filter, [each]: undefined })] as const] : []))}
          form={(close) => <Form filter={filter} close={close} />}
        />
        <div class="end">
          <span role="status">{isHeld ? `Held; ${missed < 0 ? `at least ${KEPT}` : missed} newer.` : "New events appear at the top."}</span>
          <button type="button" class="small" aria-pressed={isHeld} onClick={() => setHeld(!isHeld)}><Icon name="paused" isSmall />Hold</button>
        </div>
      </div>
      {data ? (
        <>
          <StaleNote error={error} />
          <EventTable rows={held.current} isLate={data.hasEarlier} />
        </>
      ) : (
        <Waiting error={error} />
      )}
      <p class="quiet">The same on the command line:</p>
      <Code label="Command line" text={ojsAws("events", "--follow", ...words)} />
    </>
  );
}

const OPTIONS = { types: "type", queue: "queue", job_id: "job" } as const;

function Form({ filter, close }: { filter: Filter; close: () => void }) {
  const [draft, setDraft] = useState(filter);
  return (
    <FilterForm fields={FILTER} draft={draft} change={setDraft} submit={() => { close(); open(["events"], { ...draft }); }}>
      <fieldset>
        <legend>Also show</legend>
        <label>
          <input type="checkbox" checked={draft.heartbeats === "true"} onChange={(event) => setDraft({ ...draft, heartbeats: event.currentTarget.checked ? "true" : "" })} /> heartbeats and progress
        </label>
      </fieldset>
    </FilterForm>
  );
}

function EventTable({ rows, isLate }: { rows: readonly Row[]; isLate: boolean }) {
  return (
    <Table
      label="Events"
      rows={rows}
      nameOf={({ event }) => event.id}
      none={<Empty title={isLate ? "The newest events are not shown here." : "Nothing has happened yet."}><p>{isLate ? "They are heartbeats, or do not fit the filter. Others" : "Each change of a job, a queue or a worker is an event. They"} appear here as they come.</p></Empty>}
      columns={[
        { name: "When", kind: "fact", show: ({ event }) => <Time at={event.time} /> },
        { name: "Event", kind: "name", show: ({ event }) => event.type },
        { name: "About", show: ({ event }) => about(event) },
        { name: "Job type", from: 900, show: ({ event }) => textOf(event.data["job_type"]) },
        { name: "Queue", show: ({ event }) => (typeof event.data["queue"] === "string" ? <QueueLink name={event.data["queue"]} /> : "–") },
        { name: "Data", show: ({ text }) => <details><summary>as published</summary><pre tabIndex={0} aria-label="Data of the event">{shown(text)}</pre></details> },
      ]}
    />
  );
}

/** What an event is about, with a way to it where there is a view of it. */
function about(event: LogEvent) {
  const subject = event.subject ?? "";
  const [family = ""] = event.type.split(".");
  const view = VIEW_OF[family];
  const to = view && link([view, subject]);
  if (JOB_ID.test(subject)) return <Id id={subject} to={to} />;
  if (!subject) return "–";
  return to ? <a class="id" href={to}>{subject}</a> : <span class="id long">{subject}</span>;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "–";
}
