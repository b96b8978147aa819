// The list of jobs. The filter is the address, so that it can be kept and sent to somebody.

import { useState } from "preact/hooks";
import { ActionButton } from "../action";
import { address, link, open, queryText } from "../address";
import { read } from "../api";
import { Heading, JobLink, QueueLink, StaleNote, State, Time, Waiting, counted, matching } from "../parts";
import { useData } from "../polling";
import { instantOf } from "../times";
import { type JobPage, type JobRow, STATES } from "../shapes";
import { type Column, Table } from "../table";
import { copiesOf } from "./copy_jobs";
import { type JobFilter, TERMINAL, changeAll } from "./bulk_changes";
import { Interrupted } from "./interrupted";
import { cancelOf, retryOf } from "./job_actions";

const FILTER = ["queue", "state", "type", "since", "until", "tag", "error"] as const;

export function Jobs() {
  const query = address.value.query;
  const filter: JobFilter = Object.fromEntries(FILTER.map((name) => [name, query.get(name) ?? ""]).filter(([, value]) => value));
  const cursor = query.get("cursor") ?? "";
  const path = `admin/jobs${queryText({ ...filter, cursor, limit: "50" })}`;
  const { data, error, isOld = false } = useData(async () => ({ page: await read<JobPage>(path), filter, cursor, path }), 10, path, true);
  return (
    <>
      <Heading text="Jobs" />
      <Interrupted />
      <Filter key={queryText(filter)} filter={filter} />
      {data ? (
        <div class={isOld ? "old" : ""} aria-busy={isOld}>
          <StaleNote error={error} />
          <Found page={data.page} filter={data.filter} cursor={data.cursor} key={data.path} />
        </div>
      ) : (
        <Waiting error={error} />
      )}
    </>
  );
}

function Filter({ filter }: { filter: JobFilter }) {
  const [draft, setDraft] = useState(filter);
  const states = (draft.state ?? "").split(",").filter(Boolean);
  const text = (name: "queue" | "type" | "since" | "until" | "tag" | "error", label: string, hint: string) => (
    <label>
      {label}
      <input value={draft[name] ?? ""} placeholder={hint} spellcheck={false} onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value.trim() })} />
    </label>
  );
  const toggle = (state: string, isOn: boolean): void =>
    setDraft({ ...draft, state: STATES.filter((each) => (each === state ? isOn : states.includes(each))).join(",") });
  return (
    <form class="filter" aria-label="Filter" onSubmit={(event) => { event.preventDefault(); open(["jobs"], { ...draft, since: instantOf(draft.since ?? ""), until: instantOf(draft.until ?? "") }); }}>
      {text("queue", "Queue", "any")}
      {text("type", "Type", "mail.send or mail.*")}
      {text("since", "Created since", "2h or 2026-01-31T12:00:00Z")}
      {text("until", "Created until", "30m or 2026-01-31T13:00:00Z")}
      {text("tag", "Tag", "any")}
      {text("error", "Error contains", "SmtpError: mailbox")}
      <fieldset>
        <legend>State</legend>
        {STATES.map((state) => (
          <label key={state}>
            <input type="checkbox" checked={states.includes(state)} onChange={(event) => toggle(state, event.currentTarget.checked)} /> {state}
          </label>
        ))}
      </fieldset>
      <button type="submit" class="main">Show</button>
    </form>
  );
}

/** What the list says of jobs that are executed. */
const RUNNING: readonly Column<JobRow>[] = [
  { name: "Runs since", show: (job) => <Time at={job.state === "active" ? job.started_at : undefined} /> },
  { name: "Worker", show: (job) => (job.state === "active" && job.worker_id) || "-" },
];

function Found({ page, filter, cursor }: { page: JobPage; filter: JobFilter; cursor: string }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { total, next_cursor: next, examined } = page.pagination;
  const choose = (ids: readonly string[], isOn: boolean): void => {
    const rest = [...chosen].filter((id) => !ids.includes(id));
    setChosen(new Set(isOn ? [...rest, ...ids] : rest));
  };
  const ids = [...chosen];
  const all = page.items.map((job) => job.id);
  const gone = ids.filter((id) => !all.includes(id)).length;
  const runs = page.items.some((job) => job.state === "active");
  const isAll = all.length > 0 && all.every((id) => chosen.has(id));
  return (
    <>
      <p>
        {matching(page.pagination)}
        {examined !== undefined && examined > page.items.length && <>{page.items.length} of the {counted(examined, "job")} looked at for this page fit the filter.</>}
      </p>
      <div class="buttons chosen" role="group" aria-label="Chosen jobs">
        {!isAll && all.length > 0 && <button type="button" class="small" onClick={() => choose(all, true)}>Choose all on this page</button>}
        {ids.length > 0 && <button type="button" class="small" onClick={() => setChosen(new Set())}>Choose none</button>}
        <span>
          {ids.length > 0 ? `${counted(ids.length, "job")} chosen` : "No job is chosen."}
          {gone > 0 && `, of which ${gone} left this list since`}
        </span>
        {ids.length > 0 && <ActionButton action={() => retryOf(ids)} label="Retry chosen" />}
        {ids.length > 0 && <ActionButton action={() => cancelOf(ids)} label="Cancel chosen" />}
        {page.items.some((job) => job.state === "cancelled" && chosen.has(job.id)) && <ActionButton action={() => copiesOf(ids)} label="Enqueue copies" />}
      </div>
      <Table
        label="Jobs"
        rows={page.items}
        nameOf={(job) => job.id}
        none={next ? "None of these jobs matches. Go on to look at more." : "No job matches."}
        columns={[
          {
            name: "Choose",
            show: (job) => <input type="checkbox" aria-label={`Choose ${job.id}`} checked={chosen.has(job.id)} onChange={(event) => choose([job.id], event.currentTarget.checked)} />,
          },
          { name: "Job", show: (job) => <JobLink id={job.id} /> },
          { name: "Type", show: (job) => job.type },
          { name: "Queue", show: (job) => <QueueLink name={job.queue} /> },
          { name: "State", show: (job) => <State name={job.state} /> },
          { name: "Attempt", isNumber: true, show: (job) => `${job.attempt} of ${job.max_attempts}` },
          { name: "Created", show: (job) => <Time at={job.created_at} /> },
          ...(runs ? RUNNING : []),
          { name: "Error", show: (job) => errorOf(job) },
        ]}
      />
      <div class="buttons">
        {cursor && <a href={link(["jobs"], filter)}>First page</a>}
        {next && <a href={link(["jobs"], { ...filter, cursor: next })}>{all.length < 50 ? "Go on" : "Next page"}</a>}
      </div>
      {total === 0 && filter.type && !filter.type.endsWith("*") && (
        <p>A type is matched whole. <a href={link(["jobs"], { ...filter, type: `${filter.type}*` })}>Types that begin with {filter.type}</a></p>
      )}
      {(total !== 0 || next) && <AllThatMatch filter={filter} />}
    </>
  );
}

function AllThatMatch({ filter }: { filter: JobFilter }) {
  const states = (filter.state ?? "").split(",").filter(Boolean);
  const isPossible = (fits: (state: string) => boolean): boolean => states.length === 0 || states.some(fits);
  if (Object.keys(filter).length === 0) {
    return <p class="quiet">To change many jobs at once, filter them first.</p>;
  }
  return (
    <>
      <h2>All that match</h2>
      <div class="buttons">
        {isPossible((state) => state === "discarded") && <ActionButton isSmall={false} label="Retry all …" action={() => changeAll("retry", filter)} />}
        {isPossible((state) => !TERMINAL.includes(state)) && <ActionButton isSmall={false} label="Cancel all …" action={() => changeAll("cancel", filter)} />}
        {isPossible((state) => TERMINAL.includes(state)) && <ActionButton isSmall={false} label="Delete all …" action={() => changeAll("delete", filter)} />}
      </div>
      <p class="quiet">Each button counts the jobs first, and then asks. Jobs that match only after the count are left alone.</p>
    </>
  );
}

function errorOf(job: JobRow): string {
  const text = [job.error?.type, job.error?.message].filter(Boolean).join(": ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
