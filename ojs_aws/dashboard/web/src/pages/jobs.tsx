// The list of jobs, and what can be done with the chosen ones or with all that match.

import { useState } from "preact/hooks";
import { ActionButton } from "../action";
import { address, link, queryText } from "../address";
import { read } from "../api";
import { Icon } from "../icons";
import { Menu, type MenuItem, copyCommand } from "../menu";
import { Empty, ErrorText, Heading, JobLink, QueueLink, StaleNote, State, Time, TypeLink, Waiting, counted, matching } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { between, duration, now } from "../times";
import { noteTypes } from "../types_seen";
import type { JobPage, JobRow } from "../shapes";
import { type Column, Table } from "../table";
import { copiesOf } from "./copy_jobs";
import { type JobFilter, TERMINAL, changeAll } from "./bulk_changes";
import { Interrupted } from "./interrupted";
import { RETRIED, cancelJob, cancelOf, retryJob, retryOf } from "./job_actions";
import { FILTER, JobChips, StateTabs } from "./job_filter";
import { RunsFor } from "./running_jobs";

const NONE: ReadonlySet<string> = new Set();

export function Jobs() {
  const query = address.value.query;
  const filter: JobFilter = Object.fromEntries(FILTER.map((name) => [name, query.get(name) ?? ""]).filter(([, value]) => value));
  const cursor = query.get("cursor") ?? "";
  const path = `admin/jobs${queryText({ ...filter, cursor, limit: "50" })}`;
  const load = async () => {
    const page = await read<JobPage>(path);
    noteTypes(page.items.map((job) => job.type));
    return { page, filter, cursor, path };
  };
  const { data, error, isOld = false } = useData(load, 10, path, true);
  const [choice, setChoice] = useState({ path, ids: NONE });
  const chosen = choice.path === data?.path ? choice.ids : NONE;
  const choose = (ids: ReadonlySet<string>): void => setChoice({ path: data?.path ?? path, ids });
  return (
    <>
      <Heading text="Jobs" />
      <Interrupted />
      <StateTabs filter={filter} />
      {data && <StaleNote error={error} />}
      {/* One element while jobs load and after that, so that an open form stays open. */}
      <div class="chips" key="chips">
        <JobChips key={queryText(filter)} filter={filter} />
        {data && (
          <div class="end">
            <Chosen ids={[...chosen]} page={data.page} clear={() => choose(NONE)} />
            <span>{matching(data.page.pagination)}</span>
            <AllThatMatch filter={data.filter} isEmpty={data.page.pagination.total === 0 && !data.page.pagination.next_cursor} />
          </div>
        )}
      </div>
      {data ? (
        <Found page={data.page} filter={data.filter} cursor={data.cursor} key={data.path} isOld={isOld} chosen={chosen} setChosen={choose} />
      ) : (
        <Waiting error={error} />
      )}
    </>
  );
}

/** What a job does now, or did last. */
function Happens({ job }: { job: JobRow }) {
  if (job.state === "active") return <>runs for <RunsFor job={job} />{job.worker_id && <span class="quiet"> on {job.worker_id}</span>}</>;
  if (job.state === "available") return <>waits for {duration(Math.max(0, now.value - Date.parse(job.enqueued_at ?? job.created_at)))}</>;
  if (job.state === "pending") return <>held by a workflow</>;
  if (job.state === "retryable") return <>retries <Time at={job.next_attempt_at} /></>;
  if (job.state === "scheduled") return <>runs <Time at={job.scheduled_at} /></>;
  if (job.state === "completed" && job.completed_at) return <>ran {between(job.started_at, job.completed_at)}</>;
  if (job.state === "discarded") return <>{job.dead_letter ? "kept as dead letter" : "failed for good"}</>;
  return null;
}

function itemsOf(job: JobRow): readonly MenuItem[] {
  return [
    ...(RETRIED.includes(job.state) ? [{ label: job.state === "retryable" ? "Retry now …" : "Retry …", icon: "retryable" as const, action: () => retryJob(job.id, job.state) }] : []),
    copyCommand(ojsAws("why", job.id)),
    ...(TERMINAL.includes(job.state) ? [] : [{ label: "Cancel …", icon: "cancelled" as const, action: () => cancelJob(job.id), isDangerous: true }]),
  ];
}

interface FoundOptions {
  readonly page: JobPage;
  readonly filter: JobFilter;
  readonly cursor: string;
  readonly isOld: boolean;
  readonly chosen: ReadonlySet<string>;
  readonly setChosen: (ids: ReadonlySet<string>) => void;
}

function Found({ page, filter, cursor, isOld, chosen, setChosen }: FoundOptions) {
  const { total, next_cursor: next, examined } = page.pagination;
  const choose = (ids: readonly string[], isOn: boolean): void => {
    const rest = [...chosen].filter((id) => !ids.includes(id));
    setChosen(new Set(isOn ? [...rest, ...ids] : rest));
  };
  const all = page.items.map((job) => job.id);
  const isAll = all.length > 0 && all.every((id) => chosen.has(id));
  const hasOneState = Boolean(filter.state) && !filter.state?.includes(",");
  const columns: readonly Column<JobRow>[] = [
    {
      name: "Choose",
      kind: "check",
      head: <input type="checkbox" aria-label="Choose all on this page" checked={isAll} indeterminate={chosen.size > 0 && !isAll} onChange={() => choose(all, !isAll)} />,
      show: (job) => <input type="checkbox" aria-label={`Choose ${job.id}`} checked={chosen.has(job.id)} onChange={(event) => choose([job.id], event.currentTarget.checked)} />,
    },
    { name: "Type", kind: "name", show: (job) => <TypeLink id={job.id} type={job.type} /> },
    { name: "Id", kind: "id", show: (job) => <JobLink id={job.id} /> },
    ...(hasOneState ? [] : [{ name: "State", kind: "state" as const, show: (job: JobRow) => <State name={job.state} /> }]),
    { name: "Queue", kind: "fact", from: 1200, show: (job) => <QueueLink name={job.queue} /> },
    { name: "Attempt", isNumber: true, from: 1200, show: (job) => `${job.attempt} of ${job.max_attempts}` },
    { name: "Created", isNumber: true, from: 900, show: (job) => <Time at={job.created_at} /> },
    { name: "What happens", kind: "fact", show: (job) => <Happens job={job} /> },
    { name: "Latest error", kind: "error", show: (job) => <ErrorText error={job.error} /> },
    { name: "Actions", kind: "actions", show: (job) => <Menu items={itemsOf(job)} label={`Actions of ${job.id.slice(-6)}`} /> },
  ];
  return (
    <>
      {examined !== undefined && examined > page.items.length && <p class="quiet">{page.items.length} of the {counted(examined, "job")} looked at for this page fit the filter.</p>}
      <div class={isOld ? "old" : ""} aria-busy={isOld}>
        <Table label="Jobs" rows={page.items} nameOf={(job) => job.id} columns={columns} isChosen={(job) => chosen.has(job.id)} none={<NoJob filter={filter} hasMore={Boolean(next)} isNone={total === 0} />} />
      </div>
      <div class="under">
        <span>{page.items.length > 0 && counted(page.items.length, "job")}{cursor && <> · <a href={link(["jobs"], filter)}>First page</a></>}{next && <> · <a href={link(["jobs"], { ...filter, cursor: next })}>{all.length < 50 ? "Go on" : "Next page"}</a></>}</span>
        {page.items.length > 0 && <span>Newest first</span>}
      </div>
    </>
  );
}

/** Says why the list is empty, and where to look. */
function NoJob({ filter, hasMore, isNone }: { filter: JobFilter; hasMore: boolean; isNone: boolean }) {
  if (hasMore) return <Empty title="None of these jobs matches. Go on to look at more." />;
  const hasFilter = Object.keys(filter).length > 0;
  return (
    <Empty title={hasFilter ? "No job matches." : "There are no jobs."}>
      {isNone && filter.type && !filter.type.endsWith("*") && <p>A type is matched whole. <a href={link(["jobs"], { ...filter, type: `${filter.type}*` })}>Types that begin with {filter.type}</a></p>}
      {hasFilter ? <p class="quiet">Remove a part of the filter above, or look at <a href={link(["jobs"])}>all jobs</a>. Jobs that have ended are removed when their retention is over.</p>
        : <p class="quiet">Jobs appear here as soon as they are enqueued. <a href={link([])}>How to send the first one</a></p>}
    </Empty>
  );
}

/** What can be done with the chosen jobs. */
function Chosen({ ids, page, clear }: { ids: readonly string[]; page: JobPage; clear: () => void }) {
  const here = page.items.filter((job) => ids.includes(job.id));
  const gone = ids.length - here.length;
  const isPossible = (fits: (state: string) => boolean): boolean => gone > 0 || here.some((job) => fits(job.state));
  return (
    <div class="buttons" role="group" aria-label="Chosen jobs">
      <span class={ids.length > 0 ? "" : "hint"}>{ids.length > 0 ? `${counted(ids.length, "job")} chosen` : "No job is chosen."}{gone > 0 && `, of which ${gone} left this list since`}</span>
      {ids.length > 0 && <button type="button" class="small" onClick={clear}>Choose none</button>}
      {ids.length > 0 && <ActionButton action={() => retryOf(ids)} label={`Retry ${ids.length}`} icon="retryable" />}
      {ids.length > 0 && (
        <Menu
          label="More for the chosen jobs"
          items={[
            ...(here.some((job) => job.state === "cancelled") ? [{ label: "Enqueue copies", icon: "copy" as const, action: () => copiesOf(ids) }] : []),
            ...(isPossible((state) => !TERMINAL.includes(state)) || here.length > 0 ? [{ label: "Cancel chosen", icon: "cancelled" as const, action: () => cancelOf(ids), isDangerous: true }] : []),
          ]}
        />
      )}
    </div>
  );
}

/** What can be done with all jobs that match: each counts them first, and then asks. */
function AllThatMatch({ filter, isEmpty }: { filter: JobFilter; isEmpty: boolean }) {
  const states = (filter.state ?? "").split(",").filter(Boolean);
  const isPossible = (fits: (state: string) => boolean): boolean => states.length === 0 || states.some(fits);
  if (Object.keys(filter).length === 0) return <span class="hint">To change many jobs at once, filter them first.</span>;
  if (isEmpty) return null;
  const items: readonly MenuItem[] = [
    ...(isPossible((state) => state === "discarded") ? [{ label: "Retry all …", icon: "retryable" as const, action: () => changeAll("retry", filter) }] : []),
    ...(isPossible((state) => !TERMINAL.includes(state)) ? [{ label: "Cancel all …", icon: "cancelled" as const, action: () => changeAll("cancel", filter), isDangerous: true }] : []),
    ...(isPossible((state) => TERMINAL.includes(state)) ? [{ label: "Delete all …", icon: "trash" as const, action: () => changeAll("delete", filter), isDangerous: true }] : []),
  ];
  return <Menu label="Act on all" kind="small" face={<>Act on all<Icon name="down" isSmall /></>} items={items} />;
}
