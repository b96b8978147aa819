// One cron job: when it runs, what it enqueues, and its runs of the last week.

import { ActionButton } from "../action";
import { call, read } from "../api";
import { at, readSource } from "../json_source";
import { Card, ExactTime, Facts, Heading, JobLink, QueueLink, State, Time } from "../parts";
import { useData } from "../polling";
import { Table } from "../table";
import { between } from "../times";
import { type CronRow, NextRun, clockTime, cronChange, cronTrigger } from "./cron";
import type { Run } from "./cron_runs";
import { Value } from "./job_data";

interface Everything {
  readonly cron: CronRow & { readonly run_count: number; readonly description?: string; readonly next_runs?: readonly string[] };
  readonly template: string;
  readonly runs: readonly Run[];
}

const RUNS = 50;

export function CronJob({ id }: { id: string }) {
  const loaded = useData(() => load(id), 15, `cron ${id}`);
  const { data } = loaded;
  if (!data) return <Heading text={`Cron job ${id}`} kind="Cron job" of={loaded} />;
  const { cron } = data;
  return (
    <>
      <Heading text={`Cron job ${id}`} kind="Cron job" of={loaded} beside={<State name={cron.enabled ? "open" : "paused"} />}>
        <ActionButton isSmall={false} isMain action={() => cronTrigger(id)} />
        <ActionButton isSmall={false} action={() => cronChange(id, !cron.enabled)} />
      </Heading>
      {cron.description && <p>{cron.description}</p>}
      <section class="card facts-card"><Facts
        facts={[
          ["Schedule", <><code>{cron.expression}</code> in {cron.timezone}</>],
          ["Next run", <NextRun cron={cron} />],
          ["Runs so far", cron.run_count],
          ["If one still runs", cron.overlap_policy],
          ["Type", cron.type],
          ["Queue", <QueueLink name={cron.queue} />],
        ]}
      /></section>
      <NextRuns cron={cron} runs={cron.next_runs ?? []} />
      <Card title="Runs of the last week">
      <Table
        label="Runs"
        rows={data.runs}
        nameOf={(run) => `${run.scheduled_at} ${run.job_id ?? ""}`}
        none="It has not run in the last week."
        columns={[
          { name: "Due", show: (run) => <Time at={run.scheduled_at} /> },
          { name: "State", kind: "state", show: (run) => <State name={run.state} /> },
          { name: "Job", show: (run) => (run.job_id ? <JobLink id={run.job_id} /> : "–") },
          { name: "Began", show: (run) => <Time at={run.started_at} /> },
          { name: "Took", isNumber: true, show: (run) => between(run.started_at, run.completed_at) || "–" },
          { name: "Why it did not run", show: (run) => run.reason ?? "–" },
        ]}
      />
      </Card>
      <Value title="The job that it enqueues" text={data.template} />
    </>
  );
}

/** The runs to come, by the clocks of the cron job's own zone. */
function NextRuns({ cron, runs }: { cron: CronRow; runs: readonly string[] }) {
  return (
    <>
      <Card title="Next runs">
      <Table
        label="Next runs"
        rows={runs}
        nameOf={(at) => at}
        none={cron.enabled ? "The schedule has no further runs." : "It is paused, so it does not run."}
        columns={[
          { name: "When", show: (at) => <Time at={at} /> },
          { name: `By the clocks of ${cron.timezone}`, show: (at) => clockTime(at, cron.timezone) },
          { name: "In your zone", show: (at) => <ExactTime at={at} /> },
        ]}
      />
      </Card>
    </>
  );
}

async function load(name: string): Promise<Everything> {
  const path = `cron/${encodeURIComponent(name)}`;
  const { value, text } = await call<{ cron_job: Everything["cron"] }>("GET", path);
  const { executions } = await read<{ executions: readonly Run[] }>(`${path}/history?limit=${RUNS}`);
  const template = at(readSource(text), "cron_job", "job_template")?.text ?? "{}";
  return { cron: value.cron_job, template, runs: executions };
}
