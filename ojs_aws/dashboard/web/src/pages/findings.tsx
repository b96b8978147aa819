// What needs attention, as the server found it: a sentence, one button, and the command that goes on from there.

import { useState } from "preact/hooks";
import { link } from "../address";
import { shown } from "../bidi";
import { Icon } from "../icons";
import { CopyIcon, State, Time } from "../parts";
import { useSteady } from "../steady";

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly hint: string;
  readonly data: {
    readonly queue?: string; readonly job_id?: string; readonly queues?: readonly string[]; readonly workers?: readonly string[];
  };
}

export interface Findings {
  readonly as_of: string;
  readonly findings: readonly Finding[];
  readonly checks: readonly { readonly name: string; readonly message: string }[];
}

type Severity = "critical" | "warning" | "note";

/** Findings of one cause: the first says it, the others follow from it. */
interface Cause {
  readonly finding: Finding;
  readonly severity: Severity;
  readonly others: readonly Finding[];
}

/** The command in what a finding advises. */
const COMMAND = /ojs-aws [^.]*$/;

const OPEN = 3;
const ORDER: readonly Severity[] = ["critical", "warning", "note"];
/** Jobs cannot run, or workers die. */
const CRITICAL: ReadonlySet<string> = new Set(["sweep_never", "sweep_late", "workers_die", "workers_silent", "handlers_missing", "jobs_hang"]);
/** As somebody asked for it, or good to know. */
const NOTES: ReadonlySet<string> = new Set(["workers_quiet"]);
/** What follows from workers that died or hang: their queues wait, their jobs run long. */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  workers_silent: ["job_waits", "backlog_grows", "jobs_run_long", "workers_quiet"],
  jobs_hang: ["jobs_run_long", "job_waits", "backlog_grows"],
  backlog_grows: ["job_waits"],
  queue_paused: ["job_waits", "backlog_grows"],
  workers_quiet: ["job_waits", "backlog_grows"],
};

function severityOf({ code, severity }: Finding): Severity {
  if (severity === "error" || CRITICAL.has(code)) return "critical";
  return NOTES.has(code) ? "note" : "warning";
}

function queuesOf({ data }: Finding): readonly string[] {
  return [...(data.queues ?? []), ...(data.queue ? [data.queue] : [])];
}

/** Return the findings by their causes, the worst first. */
export function causesOf(findings: readonly Finding[]): Cause[] {
  const taken = new Set<Finding>();
  const causes: Cause[] = [];
  const rank = (finding: Finding): number => Object.keys(FOLLOWS).indexOf(finding.code);
  const first = [...findings].sort((one, other) => (rank(one) < 0 ? 99 : rank(one)) - (rank(other) < 0 ? 99 : rank(other)));
  for (const finding of first) {
    if (taken.has(finding)) continue;
    taken.add(finding);
    const queues = queuesOf(finding);
    const others = findings.filter((each) => !taken.has(each) && (FOLLOWS[finding.code] ?? []).includes(each.code) && queuesOf(each).some((queue) => queues.includes(queue)));
    others.forEach((each) => taken.add(each));
    const severity = ORDER.find((each) => [finding, ...others].some((one) => severityOf(one) === each)) ?? "note";
    causes.push({ finding, severity, others });
  }
  return causes.sort((one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity) || findings.indexOf(one.finding) - findings.indexOf(other.finding));
}

const LOOK: Readonly<Record<Severity, string>> = { critical: "discarded", warning: "retryable", note: "note" };

function countedBy(causes: readonly Cause[]): string {
  const texts = ORDER.map((severity) => [causes.filter((each) => each.severity === severity).length, severity] as const).filter(([count]) => count > 0);
  return texts.map(([count, severity]) => `${count} ${severity}${count > 1 && severity !== "critical" ? "s" : ""}`).join(" · ");
}

export function FindingsPanel({ found: newest }: { found: Findings }) {
  const found = useSteady(newest);
  const [isAll, showAll] = useState(false);
  const [isListed, list] = useState(false);
  const causes = causesOf(found.findings);
  const isWell = causes.length === 0;
  const hidden = causes.slice(OPEN);
  return (
    <section class={isWell ? "card attention well st-completed" : "card attention"} aria-labelledby="findings">
      <div class="card-head">
        {isWell && <State name="well" label="All well" />}
        <h2 id="findings">{isWell ? "Nothing needs attention." : "Needs attention"}</h2>
        <span class="quiet">{isWell ? <>{found.checks.length} checks, <Time at={found.as_of} /></> : countedBy(causes)}</span>
        <div class="tools"><button type="button" class="ghost" aria-expanded={isListed} onClick={() => list(!isListed)}>What was checked</button></div>
      </div>
      {isListed && <ul class="checked">{found.checks.map((each) => <li key={each.name}>{each.message}</li>)}</ul>}
      {!isWell && <ul class="findings">{(isAll ? causes : causes.slice(0, OPEN)).map((cause) => <One key={cause.finding.message} cause={cause} />)}</ul>}
      {hidden.length > 0 && (
        <button type="button" class="ghost more-button" aria-expanded={isAll} onClick={() => showAll(!isAll)}>
          <Icon name={isAll ? "close" : "down"} />{isAll ? `Show ${OPEN}` : `Show ${countedBy(hidden).replace(" ", " more ").replace(" · ", " and ")}`}
        </button>
      )}
    </section>
  );
}

/** Return what follows from a cause, which needs no reasons of its own. */
function consequence(text: string): string {
  return `So ${text.replace(/\. .*/s, ".").replace(/^(The|In) /, (word) => word.toLowerCase())}`;
}

function One({ cause: { finding, severity, others } }: { cause: Cause }) {
  const line = [finding, ...others].flatMap((each) => each.hint.match(COMMAND)?.[0] ?? [])[0];
  const advice = finding.hint.replace(COMMAND, "").replace(/:? *$/, "");
  return (
    <li class={`st-${LOOK[severity]} code-${finding.code}`}>
      <State name={severity} />
      <div class="says">
        {shown(finding.message)} {advice && <span class="quiet">{advice.replace(/[^.]$/, "$&.")}</span>}
        {others.map((each) => <div key={each.message} class="quiet">{shown(consequence(each.message))}</div>)}
      </div>
      <div class="does">
        <Where finding={finding} />
        {line && <CopyIcon text={line} label="Copy the command" icon="command" />}
      </div>
    </li>
  );
}

/** The one button of a finding: the view that has more. */
function Where({ finding: { code, data } }: { finding: Finding }) {
  const { job_id: job, queue = data.queues?.[0] } = data;
  const button = (text: string, address: string) => <a class="button" href={address}>{text}</a>;
  if (code === "dead_letters") return button("See dead letters", link(["dead-letters"], { queue }));
  if (code === "workers_quiet" || code === "workers_silent") return button("See the workers", link(["workers"], { queue }));
  if (code === "jobs_fail" && queue) return button("See the errors", link(["errors"], { queue: data.queues ? undefined : queue }));
  if (code === "jobs_run_long" && queue) {
    return <>{[...new Set(data.queues ?? [queue])].map((each) => <a key={each} class="button" href={link(["jobs"], { queue: each, state: "active" })}>Active jobs of {each}</a>)}</>;
  }
  if (code === "sequence_stopped") return button("See the sequences", link(["sequences"]));
  if (job) return button("See the job", link(["jobs", job]));
  if (queue) return button("See the queue", link(["queues", queue]));
  return null;
}
