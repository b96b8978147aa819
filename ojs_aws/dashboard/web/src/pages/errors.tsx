// How jobs fail: failed attempts grouped by error, the largest group first.

import { address, link, open, queryText } from "../address";
import { read } from "../api";
import { Code, ExactTime, Heading, JobLink, QueueLink, StaleNote, Time, Waiting, atLeast, counted } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { Table } from "../table";

interface ErrorGroup {
  readonly type: string;
  readonly message: string;
  readonly example?: string;
  readonly count: number;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly queues: readonly string[];
  readonly job_ids: readonly string[];
}

interface ErrorGroups {
  readonly since: string;
  readonly groups: readonly ErrorGroup[];
  readonly ungrouped: number;
  readonly has_more: boolean;
  readonly is_exact: boolean;
}

const PERIODS = [["PT1H", "the last hour", "1h"], ["PT24H", "the last day", "24h"], ["P7D", "the last week", "7d"]] as const;

export function Errors() {
  const query = address.value.query;
  const queue = query.get("queue") ?? "";
  const [since, name, age] = PERIODS.find(([each]) => each === query.get("since")) ?? PERIODS[0];
  const path = `admin/errors${queryText({ queue, since })}`;
  const { data, error } = useData(() => read<ErrorGroups>(path), 30, path);
  return (
    <>
      <Heading text="Errors" />
      <div class="filter">
        <label>
          Failed in
          <select value={since} onChange={(event) => open(["errors"], { queue, since: event.currentTarget.value })}>
            {PERIODS.map(([each, label]) => <option key={each} value={each}>{label}</option>)}
          </select>
        </label>
        {queue && <p>In the queue <QueueLink name={queue} />. <a href={link(["errors"], { since })}>All queues</a></p>}
      </div>
      {data ? <><StaleNote error={error} /><Groups found={data} period={name} /></> : <Waiting error={error} />}
      <p class="quiet">The same on the command line:</p>
      <Code label="Command line" text={ojsAws("errors", "--since", age, ...(queue ? ["--queue", queue] : []))} />
    </>
  );
}

function Groups({ found, period }: { found: ErrorGroups; period: string }) {
  const shown = found.groups.reduce((sum, group) => sum + group.count, 0);
  return (
    <>
      <p>
        {atLeast(shown + found.ungrouped, found.is_exact)} failed attempts since <ExactTime at={found.since} />, the beginning of an hour.{" "}
        {found.ungrouped > 0 && <>{counted(found.ungrouped, "failure")} belong to no group. </>}
        {found.has_more && "There are more groups."}
      </p>
      <Table
        label="Errors"
        rows={found.groups}
        nameOf={(group) => `${group.type} ${group.message}`}
        none={`Nothing failed in ${period}.`}
        columns={[
          { name: "Failures", isNumber: true, show: (group) => group.count.toLocaleString("en") },
          { name: "Error", show: (group) => <Message group={group} /> },
          { name: "Last seen", show: (group) => <Time at={group.last_seen} /> },
          { name: "First seen", show: (group) => <Time at={group.first_seen} /> },
          { name: "Jobs with it in", show: (group) => group.queues.map((each) => <div key={each} class="line"><a href={link(["jobs"], { queue: each, state: "retryable,discarded", error: errorOf(group) })}>{each}</a></div>) },
          { name: "For example", show: (group) => group.job_ids.map((id) => <div key={id} class="line"><JobLink id={id} /></div>) },
          { name: "Dead letters", show: (group) => group.type && <a href={link(["dead-letters"], { error_type: group.type })}>of this type</a> },
        ]}
      />
    </>
  );
}

/** The message of the last failure; values differ among those of a group. */
function Message({ group }: { group: ErrorGroup }) {
  const example = group.example ?? group.message;
  return (
    <div class="wide">
      <strong>{group.type}</strong> {example}
      {group.count > 1 && example !== group.message && <div class="quiet">and others like it: {group.message}</div>}
    </div>
  );
}

/** The text that finds the jobs of a group; a long message is cut. */
function errorOf(group: ErrorGroup): string {
  return `${group.type}: ${group.message}`.replace(/…$/, "");
}
