// The cron jobs: when each runs next, in its own zone too; run now, pause, resume.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Card, Code, Empty, Heading, JobLink, State, Time, counted } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Pagination } from "../shapes";
import { Table } from "../table";
import { earlierFirst } from "../times";
import { NextDay } from "./cron_day";
import { LastRuns, type Runs, useRuns } from "./cron_runs";

export interface CronRow {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly type: string;
  readonly queue: string;
  readonly enabled: boolean;
  readonly overlap_policy: string;
  readonly last_run_at: string | null;
  readonly next_run_at: string | null;
  readonly last_occurrence: { readonly outcome?: string; readonly job_id?: string } | null;
}

interface CronPage {
  readonly items: readonly CronRow[];
  readonly pagination: Pagination;
}

export function Cron() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => read<CronPage>(`cron?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 15, `cron ${cursor}`);
  const heading = <Heading text="Cron" of={loaded} />;
  const { data } = loaded;
  const runs = useRuns(data?.items.map((cron) => cron.name) ?? []);
  if (!data) return heading;
  const next = data.pagination.next_cursor;
  return (
    <>
      {heading}
      <NextDay rows={data.items} />
      <Card title={counted(data.items.length, "cron job")} note="the next to run first">
      <Table
        label="Cron jobs"
        rows={nextFirst(data.items)}
        nameOf={(cron) => cron.name}
        none={<Empty title="There are no cron jobs."><p>This one runs each day at three, in Berlin:</p><Code text={ojsAws("cron", "register", "nightly", "0 3 * * *", "report.build", "--timezone", "Europe/Berlin")} label="A command that creates a cron job" /></Empty>}
        columns={[
          { name: "Name", kind: "name", show: (cron) => <a href={link(["cron", cron.name])}>{cron.name}</a> },
          { name: "Schedule", kind: "fact", show: (cron) => <code>{cron.expression}</code> },
          { name: "Enqueues", from: 1200, show: (cron) => <div class="two">{cron.type}<div class="quiet">{cron.queue}</div></div> },
          { name: "State", kind: "state", show: (cron) => <State name={cron.enabled ? "open" : "paused"} /> },
          { name: "Next run", show: (cron) => <NextRun cron={cron} /> },
          { name: "Last 12 runs", from: 900, show: (cron) => <LastRuns runs={runs[cron.name]} /> },
          { name: "Last run", kind: "fact", from: 900, show: (cron) => (cron.last_run_at ? <div class="two">{outcomeOf(cron, runs)}<div class="quiet"><Time at={cron.last_run_at} /></div></div> : "–") },
          { name: "Last job", from: 1400, show: (cron) => (cron.last_occurrence?.job_id ? <JobLink id={cron.last_occurrence.job_id} /> : "–") },
          { name: "If one still runs", from: 1400, show: (cron) => cron.overlap_policy },
          {
            name: "Change",
            kind: "actions",
            show: (cron) => (
              <div class="buttons">
                <ActionButton action={() => cronTrigger(cron.name)} />
                <ActionButton action={() => cronChange(cron.name, !cron.enabled)} />
              </div>
            ),
          },
        ]}
      />
      </Card>
      {next && <p><a href={link(["cron"], { cursor: next })}>Next cron jobs</a></p>}
    </>
  );
}

/** How the last run ended, if its history is there; else only that it was started. */
function outcomeOf(cron: CronRow, runs: Runs) {
  const [last] = runs[cron.name] ?? [];
  const state = last && last.job_id === (cron.last_occurrence?.job_id ?? last.job_id) ? last.state : undefined;
  return state ? <span class={state === "discarded" ? "bad-text" : ""}>{state === "discarded" ? "failed" : state}</span> : <>{cron.last_occurrence?.outcome ?? "–"}</>;
}

function nextFirst(rows: readonly CronRow[]): readonly CronRow[] {
  const at = (cron: CronRow): string | null => (cron.enabled ? cron.next_run_at : null);
  return [...rows].sort((one, other) => earlierFirst(at(one), at(other)));
}

/** When a cron job runs next, relative and by the clocks of its own zone. */
export function NextRun({ cron }: { cron: CronRow }) {
  if (!cron.enabled || !cron.next_run_at) return <>–</>;
  return <div class="two"><Time at={cron.next_run_at} /><div class="quiet">{clockTime(cron.next_run_at, cron.timezone)} {cron.timezone}</div></div>;
}

/** Return an instant as the clocks of a zone show it; empty for a zone that the browser does not know. */
export function clockTime(instant: string, timeZone: string): string {
  const at = new Date(instant);
  const timeStyle = at.getUTCSeconds() ? "medium" : "short";
  try {
    const day = new Intl.DateTimeFormat("en", { timeZone, weekday: "short" }).format(at);
    return `${day} ${new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle }).format(at)}`;
  } catch {
    return "";
  }
}

/** Run a cron job now. */
export function cronTrigger(name: string): Action {
  return {
    title: `Run ${name} now?`,
    explanation: "The job is enqueued now, under the overlap policy of the cron job. The schedule stays.",
    command: ojsAws("cron", "trigger", name),
    verb: "Run now",
    run: async () => {
      const { value } = await call<{ triggered: boolean; job_id: string | null; reason: string | null }>("POST", `cron/${encodeURIComponent(name)}/trigger`);
      return value.triggered ? `Enqueued the job ${value.job_id}.` : `Nothing was enqueued: ${value.reason ?? "the overlap policy says so"}.`;
    },
  };
}

/** Enable or disable a cron job. */
export function cronChange(name: string, isOn: boolean): Action {
  const change = isOn ? "resume" : "pause";
  return {
    title: `${isOn ? "Resume" : "Pause"} ${name}?`,
    explanation: isOn ? "The next run is the next one of the schedule." : "Runs that are missed meanwhile are not caught up.",
    command: ojsAws("cron", change, name),
    verb: isOn ? "Resume" : "Pause",
    run: async () => {
      await call("POST", `cron/${encodeURIComponent(name)}/${change}`);
      return `The cron job ${name} is ${change}d.`;
    },
  };
}
