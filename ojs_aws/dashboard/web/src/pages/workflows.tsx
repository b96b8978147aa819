// The workflows, the newest first.

import { address, link, open } from "../address";
import { read } from "../api";
import { Heading, StaleNote, State, Time, Waiting } from "../parts";
import { useData } from "../polling";
import type { Pagination } from "../shapes";
import { Table } from "../table";

export interface WorkflowRow {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly state: string;
  readonly jobs_total: number;
  readonly jobs_completed: number;
  readonly created_at: string;
  readonly completed_at?: string;
}

interface WorkflowPage {
  readonly items: readonly WorkflowRow[];
  readonly pagination: Pagination;
}

const STATES = ["", "pending", "running", "completed", "failed", "cancelled"] as const;

export function Workflows() {
  const state = address.value.query.get("state") ?? "";
  const cursor = address.value.query.get("cursor") ?? "";
  const query = new URLSearchParams({ limit: "50", ...(state && { state }), ...(cursor && { cursor }) });
  const { data, error } = useData(() => read<WorkflowPage>(`workflows?${query}`), 15, `workflows ${query}`);
  const next = data?.pagination.next_cursor;
  return (
    <>
      <Heading text="Workflows" />
      <div class="filter">
        <label>
          State
          <select value={state} onChange={(event) => open(["workflows"], { state: event.currentTarget.value })}>
            {STATES.map((each) => <option key={each} value={each}>{each || "any"}</option>)}
          </select>
        </label>
      </div>
      {data ? (
        <>
          <StaleNote error={error} />
          <Table
            label="Workflows"
            rows={data.items}
            nameOf={(workflow) => workflow.id}
            none="No workflow matches."
            columns={[
              { name: "Workflow", show: (workflow) => <a class="id" href={link(["workflows", workflow.id])}>{workflow.id}</a> },
              { name: "Name", show: (workflow) => workflow.name ?? "-" },
              { name: "Kind", show: (workflow) => workflow.type },
              { name: "State", show: (workflow) => <State name={workflow.state} /> },
              { name: "Jobs completed", isNumber: true, show: (workflow) => `${workflow.jobs_completed} of ${workflow.jobs_total}` },
              { name: "Created", show: (workflow) => <Time at={workflow.created_at} /> },
            ]}
          />
          {next && <p><a href={link(["workflows"], { state, cursor: next })}>Next workflows</a></p>}
        </>
      ) : (
        <Waiting error={error} />
      )}
    </>
  );
}
