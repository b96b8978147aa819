// What needs attention, as the server found it: a sentence, where to look, and the command that goes on from there.

import { link } from "../address";
import { JobLink, State, Time } from "../parts";
import { useSteady } from "../steady";

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly hint: string;
  readonly data: { readonly queue?: string; readonly job_id?: string; readonly queues?: readonly string[] };
}

export interface Findings {
  readonly as_of: string;
  readonly findings: readonly Finding[];
  readonly checks: readonly { readonly name: string; readonly message: string }[];
}

/** The view that has more about a finding. */
const VIEWS: Readonly<Record<string, readonly [string, string]>> = {
  dead_letters: ["dead-letters", "Dead letters"],
  workers_quiet: ["workers", "Workers"],
  workers_silent: ["workers", "Workers"],
};

export function FindingsPanel({ found: newest }: { found: Findings }) {
  const found = useSteady(newest);
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Needs attention</h2>
      {found.findings.length > 0 ? (
        <ul class="findings">
          {found.findings.map((each) => (
            <li key={each.message} class={each.severity === "error" ? "note bad" : "note"}>
              <p><State name={each.severity} /> {each.message} <Where finding={each} /> <Hint text={each.hint} /></p>
            </li>
          ))}
        </ul>
      ) : (
        <p class="quiet">Nothing, as of <Time at={found.as_of} />.</p>
      )}
      <details>
        <summary>What was checked</summary>
        <ul>{found.checks.map((each) => <li key={each.name}>{each.message}</li>)}</ul>
      </details>
    </section>
  );
}

/** What to do: a command line, or a sentence. */
function Hint({ text }: { text: string }) {
  return text.startsWith("ojs-aws ") ? <code>{text}</code> : <span class="quiet">{text}</span>;
}

function Where({ finding }: { finding: Finding }) {
  const { job_id: job, queue, queues = [] } = finding.data;
  const view = VIEWS[finding.code];
  if (view) return <a href={link([view[0]], { queue })}>{view[1]}</a>;
  if (finding.code === "jobs_run_long" && queue) {
    return <>{(queues.length > 0 ? queues : [queue]).map((each) => <span key={each}><a href={link(["jobs"], { queue: each, state: "active" })}>Active jobs of {each}</a> </span>)}</>;
  }
  if (job) return <JobLink id={job} />;
  if (queue) {
    const isFailing = finding.code === "jobs_fail";
    const parts = isFailing ? link(["errors"], { queue }) : link(["queues", queue]);
    return <a href={parts}>{isFailing ? "Errors" : `Queue ${queue}`}</a>;
  }
  return null;
}
