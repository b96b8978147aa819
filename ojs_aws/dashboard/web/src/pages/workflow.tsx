// One workflow: drawn as a graph, and as a table of its steps with what each waits for.

import type { Action } from "../action";
import { link } from "../address";
import { call, read, readIfAllowed } from "../api";
import { type GraphStep, nodesOf } from "../graph";
import { Menu, copyCommand } from "../menu";
import { Card, ErrorText, Heading, Id, JobLink, State, Time, TypeLink, counted } from "../parts";
import { useData } from "../polling";
import type { Failure } from "../shapes";
import { ojsAws } from "../quoting";
import { Table } from "../table";
import { between } from "../times";
import { WorkflowGraph } from "./workflow_graph";
import type { WorkflowRow } from "./workflows";

type WorkflowDetail = WorkflowRow & Pick<GraphStep, "steps" | "jobs" | "callbacks"> & { readonly pagination?: { readonly limit: number; readonly total: number } };

interface Everything {
  readonly workflow: WorkflowDetail;
  /** The latest errors of jobs that failed for good, by their ids: of the first few. */
  readonly errors: Readonly<Record<string, Failure>>;
}

const SHOWN_ERRORS = 3;

function hasFailed(step: GraphStep): boolean {
  return step.job_state === "discarded" || step.state === "failed" || step.state === "discarded";
}

/** Read a workflow, and once what its failed jobs say. */
async function load(id: string, before: Everything | null): Promise<Everything> {
  const { workflow } = await read<{ workflow: WorkflowDetail }>(`workflows/${encodeURIComponent(id)}`);
  const errors: Record<string, Failure> = { ...before?.errors };
  const failed = nodesOf(workflow).flatMap(({ step }) => (hasFailed(step) && step.job_id ? [step.job_id] : []));
  for (const job of failed.slice(0, SHOWN_ERRORS)) {
    if (!errors[job]) errors[job] = (await readIfAllowed<{ job: { error?: Failure } }>(`admin/jobs/${encodeURIComponent(job)}`))?.job.error ?? {};
  }
  return { workflow, errors };
}

const SHOWN_NAMES = 5;
const ENDED: readonly string[] = ["completed", "failed", "cancelled"];

export function Workflow({ id }: { id: string }) {
  const loaded = useData<Everything>((before) => load(id, before), 5, `workflow ${id}`);
  if (!loaded.data) return <Heading text="Workflow" kind="" of={loaded} />;
  const { workflow: data, errors } = loaded.data;
  const nodes = nodesOf(data);
  const failed = nodes.filter(({ step }) => hasFailed(step));
  const skipped = nodes.filter(({ step }) => step.state === "cancelled").length;
  const took = between(data.created_at, data.completed_at);
  return (
    <>
      <Heading text={data.name ? `Workflow ${data.name}` : "Workflow"} kind={data.name ? "Workflow" : ""} of={loaded}
        beside={<><State name={data.state} /><Id id={data.id} /><span class="quiet">{data.type}, {data.jobs_completed} of {data.jobs_total} jobs completed{took && ` · ${took}`}, began <Time at={data.created_at} /></span></>}>
        {!ENDED.includes(data.state) && <Menu items={[copyCommand(ojsAws("workflows", "show", id)), { label: "Cancel the workflow …", icon: "cancelled", action: () => cancel(id), isDangerous: true }]} />}
      </Heading>
      {failed[0] && (
        <div class="note bad">
          <p>
            <strong>{failed[0].step.type ?? failed[0].path} failed for good{skipped > 0 && `, so ${counted(skipped, "step")} ${skipped === 1 ? "was" : "were"} cancelled`}.</strong>{" "}
            {failed[0].step.job_id && <a href={link(["jobs", failed[0].step.job_id])}>See the job</a>}
          </p>
        </div>
      )}
      {data.pagination && (
        <p class="quiet">
          These are the first {data.pagination.limit} of {data.pagination.total} steps. <code>{ojsAws("workflows", "show", id)}</code> has all.
        </p>
      )}
      <Card title="Steps" note="left to right, in the order in which they may run"><WorkflowGraph nodes={nodes} errors={errors} /></Card>
      <Table
        label="Steps"
        rows={nodes}
        nameOf={(node) => node.path}
        none="The answer names no steps."
        columns={[
          { name: "Step", kind: "fact", show: (node) => node.path },
          { name: "Type", kind: "name", show: ({ step }) => (step.job_id ? <TypeLink id={step.job_id} type={step.type ?? "–"} /> : (step.type ?? "–")) },
          { name: "State", kind: "state", show: ({ step }) => <State name={step.state} /> },
          { name: "Waits for", from: 900, show: (node) => named(node.after) },
          { name: "Began", isNumber: true, from: 900, show: ({ step }) => <Time at={step.started_at} /> },
          { name: "Took", isNumber: true, show: ({ step }) => between(step.started_at, step.completed_at) || "–" },
          { name: "Job", show: ({ step }) => (step.job_id ? <JobLink id={step.job_id} /> : "–") },
          { name: "Job is", from: 1400, show: ({ step }) => (step.job_state ? <State name={step.job_state} isPlain /> : "–") },
          { name: "Error", kind: "error", show: ({ step }) => <ErrorText error={errors[step.job_id ?? ""]} /> },
        ]}
      />
    </>
  );
}

/** Return some names, and how many others there are. */
function named(names: readonly string[]): string {
  const others = names.length - SHOWN_NAMES;
  return `${names.slice(0, SHOWN_NAMES).join(", ")}${others > 0 ? ` and ${others} others` : ""}` || "–";
}

function cancel(id: string): Action {
  return {
    title: "Cancel this workflow?",
    explanation: "Steps that have not begun are cancelled. Jobs that are executed may end.",
    command: ojsAws("workflows", "cancel", id),
    verb: "Cancel the workflow",
    run: async () => {
      await call("DELETE", `workflows/${encodeURIComponent(id)}`);
      return "The workflow is cancelled.";
    },
  };
}
