// One workflow: drawn as a graph, and as a table of its steps with what each waits for.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { call, read } from "../api";
import { type GraphStep, nodesOf } from "../graph";
import { Facts, Heading, JobLink, State, Time } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import { Table } from "../table";
import { between } from "../times";
import { WorkflowGraph } from "./workflow_graph";
import type { WorkflowRow } from "./workflows";

type WorkflowDetail = WorkflowRow & Pick<GraphStep, "steps" | "jobs" | "callbacks"> & { readonly pagination?: { readonly limit: number; readonly total: number } };

const SHOWN_NAMES = 5;
const ENDED: readonly string[] = ["completed", "failed", "cancelled"];

export function Workflow({ id }: { id: string }) {
  const load = async (): Promise<WorkflowDetail> => (await read<{ workflow: WorkflowDetail }>(`workflows/${encodeURIComponent(id)}`)).workflow;
  const loaded = useData(load, 5, `workflow ${id}`);
  const { data } = loaded;
  if (!data) return <Heading text="Workflow" of={loaded} />;
  const nodes = nodesOf(data);
  return (
    <>
      <Heading text={data.name ? `Workflow ${data.name}` : "Workflow"} of={loaded}>
        {!ENDED.includes(data.state) && <ActionButton isSmall={false} action={() => cancel(id)} />}
      </Heading>
      <Facts
        facts={[
          ["Id", <span class="id">{data.id}</span>],
          ["Kind", data.type],
          ["State", <State name={data.state} />],
          ["Jobs completed", `${data.jobs_completed} of ${data.jobs_total}`],
          ["Created", <Time at={data.created_at} />],
          ["Ended", <Time at={data.completed_at} />],
        ]}
      />
      <h2>Steps</h2>
      {data.pagination && (
        <p class="quiet">
          These are the first {data.pagination.limit} of {data.pagination.total} steps. <code>{ojsAws("workflows", "show", id)}</code> has all.
        </p>
      )}
      <WorkflowGraph nodes={nodes} />
      <Table
        label="Steps"
        rows={nodes}
        nameOf={(node) => node.path}
        none="The answer names no steps."
        columns={[
          { name: "Step", show: (node) => node.path },
          { name: "Type", show: ({ step }) => step.type ?? "-" },
          { name: "State", show: ({ step }) => <State name={step.state} /> },
          { name: "Waits for", show: (node) => named(node.after) },
          { name: "Began", show: ({ step }) => <Time at={step.started_at} /> },
          { name: "Took", isNumber: true, show: ({ step }) => between(step.started_at, step.completed_at) || "-" },
          { name: "Job", show: ({ step }) => (step.job_id ? <JobLink id={step.job_id} /> : "-") },
          { name: "Job is", show: ({ step }) => (step.job_state ? <State name={step.job_state} /> : "-") },
        ]}
      />
    </>
  );
}

/** Return some names, and how many others there are. */
function named(names: readonly string[]): string {
  const others = names.length - SHOWN_NAMES;
  return `${names.slice(0, SHOWN_NAMES).join(", ")}${others > 0 ? ` and ${others} others` : ""}` || "-";
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
