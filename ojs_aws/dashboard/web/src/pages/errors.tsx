// How jobs fail: failed attempts grouped by error, the largest group first.

import { address, link, open, queryText } from "../address";
import { read } from "../api";
import { shown } from "../bidi";
import { Icon } from "../icons";
import { Code, Empty, Heading, JobLink, StaleNote, State, Time, Waiting, atLeast, counted } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { Bars } from "../sparkline";
import { Table } from "../table";
import { noteCount } from "../totals";

interface ErrorGroup {
  readonly type: string;
  readonly message: string;
  readonly example?: string;
  readonly count: number;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly queues: readonly string[];
  readonly job_ids: readonly string[];
  /** Failures in each window since the beginning. */
  readonly counts?: readonly number[];
}

interface ErrorGroups {
  readonly since: string;
  readonly groups: readonly ErrorGroup[];
  readonly ungrouped: number;
  readonly has_more: boolean;
  readonly is_exact: boolean;
}

const PERIODS = [["PT1H", "the last hour", "1 h"], ["PT24H", "the last day", "24 h"], ["P7D", "the last week", "7 d"]] as const;

export function Errors() {
  const query = address.value.query;
  const queue = query.get("queue") ?? "";
  const [since, name, age] = PERIODS.find(([each]) => each === query.get("since")) ?? PERIODS[1];
  const path = `admin/errors${queryText({ queue, since })}`;
  const { data, error } = useData(() => read<ErrorGroups>(path), 30, path);
  return (
    <>
      <Heading text="Errors" />
      <div class="chips">
        {queue && <span class="chip"><span>Queue <strong>{queue}</strong></span><a href={link(["errors"], { since })} aria-label="All queues"><Icon name="close" isSmall /></a></span>}
        {data && <Summary found={data} period={name} />}
        <div class="end segments" role="group" aria-label="Failed in">
          {PERIODS.map(([each, label, short]) => <button key={each} type="button" class="small" aria-pressed={each === since} onClick={() => open(["errors"], { queue, since: each })}><span class="left-out">{label}: </span>{short}</button>)}
        </div>
      </div>
      {data ? <><StaleNote error={error} /><Groups found={data} period={name} /></> : <Waiting error={error} />}
      <p class="quiet">The same on the command line:</p>
      <Code label="Command line" text={ojsAws("errors", "--since", age.replace(" ", ""), ...(queue ? ["--queue", queue] : []))} />
    </>
  );
}

function Summary({ found, period }: { found: ErrorGroups; period: string }) {
  const all = found.groups.reduce((sum, group) => sum + group.count, 0);
  return (
      <span class="quiet">
        {counted(found.groups.length, "kind")} · {" "}
        {atLeast(all + found.ungrouped, found.is_exact)} failed attempts in {period}.{" "}
        {found.ungrouped > 0 && <>{counted(found.ungrouped, "failure")} belong to no group. </>}
        {found.has_more && "There are more groups."}
      </span>
  );
}

/** An hour has one or two counts: too few for a drawing. */
const FEWEST = 6;

function Groups({ found, period }: { found: ErrorGroups; period: string }) {
  const most = Math.max(0, ...found.groups.flatMap((group) => group.counts ?? []));
  const isDrawn = (found.groups[0]?.counts?.length ?? 0) >= FEWEST;
  const shape = period.replace("the last", "Last");
  noteCount("errors", found.groups.length);
  return (
    <>
      <Table
        label="Errors"
        rows={found.groups}
        nameOf={(group) => `${group.type} ${group.message}`}
        none={<Empty title={`Nothing failed in ${period}.`}><p>Failed attempts are grouped here by their error, with jobs to look at. An error is whatever a handler raises.</p></Empty>}
        columns={[
          { name: "Failures", isNumber: true, show: (group) => <strong>{group.count.toLocaleString("en")}</strong> },
          ...(isDrawn ? [{ name: shape, from: 900 as const, show: ({ counts = [] }: ErrorGroup) => <Bars values={counts} most={most} look="discarded" /> }] : []),
          { name: "Error", kind: "wide", show: (group) => <Message group={group} isNew={isDrawn && isNew(group)} /> },
          { name: "Queues", kind: "fact", show: (group) => group.queues.map((each) => <div key={each} class="line"><a href={link(["jobs"], { queue: each, state: "retryable,discarded", error: errorOf(group) })}>{each}</a></div>) },
          { name: "Last seen", isNumber: true, show: (group) => <div class="two"><Time at={group.last_seen} /><div class="quiet">since <Time at={group.first_seen} /></div></div> },
          { name: "For example", from: 1200, show: (group) => group.job_ids.map((id) => <div key={id} class="line"><JobLink id={id} /></div>) },
          { name: "Dead letters", kind: "actions", show: (group) => group.type && <a class="button" href={link(["dead-letters"], { error_type: group.type })}>Dead letters</a> },
        ]}
      />
      {found.groups.some(differs) && <p class="quiet">* stands for a part that differs. Counts are of failed attempts, not of jobs.</p>}
    </>
  );
}

/** Return whether an error occurred in the last two windows, and never before in the shown time. */
function isNew({ counts = [] }: ErrorGroup): boolean {
  return counts.slice(0, -2).every((count) => count === 0);
}

/** Return whether the messages of a group differ, and have words in common: then those are shown. */
function differs({ count, example, message }: ErrorGroup): boolean {
  return count > 1 && example !== undefined && example !== message && /\p{L}{2}/u.test(message);
}

/** What the messages of a group have in common; the tooltip has the last one as it was. */
function Message({ group, isNew }: { group: ErrorGroup; isNew: boolean }) {
  const example = group.example ?? group.message;
  const text = differs(group) ? group.message : example;
  return (
    <div class="two">
      <strong>{group.type}</strong> {isNew && <State name="new" />} <span class="cut" title={differs(group) ? `For example: ${shown(example)}` : shown(example)}>{shown(text)}</span>
    </div>
  );
}

/** The text that finds the jobs of a group; a long message is cut. */
function errorOf(group: ErrorGroup): string {
  return `${group.type}: ${group.message}`.replace(/…$/, "");
}
