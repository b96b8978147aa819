// The workflows, the newest first.

import { address, link } from "../address";
import { read } from "../api";
import { Icon, LOOKS } from "../icons";
import { Empty, Heading, Id, StaleNote, State, Time, Waiting } from "../parts";
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
      <nav aria-label="States">
        <ul class="state-tabs">
          {STATES.map((each) => (
            <li key={each}>
              <a href={link(["workflows"], { state: each })} aria-current={each === state ? "true" : undefined} class={each && `st-${LOOKS[each]?.[1]}`}>
                {each && <Icon name={LOOKS[each]?.[0] ?? "note"} />}<span class="word">{each || "all"}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {data ? (
        <>
          <StaleNote error={error} />
          <Table
            label="Workflows"
            rows={data.items}
            nameOf={(workflow) => workflow.id}
            none={<Empty title="No workflow matches."><p>A workflow runs jobs one after the other, or beside each other. Each is listed here with its steps and what holds it up.</p></Empty>}
            columns={[
              { name: "Name", kind: "name", show: (workflow) => <a class="name" href={link(["workflows", workflow.id])}>{workflow.name ?? workflow.type}</a> },
              { name: "Workflow", kind: "id", show: (workflow) => <Id id={workflow.id} to={link(["workflows", workflow.id])} /> },
              { name: "Kind", kind: "fact", show: (workflow) => workflow.type },
              { name: "State", kind: "state", show: (workflow) => <State name={workflow.state} /> },
              { name: "Jobs completed", isNumber: true, show: (workflow) => `${workflow.jobs_completed} of ${workflow.jobs_total}` },
              { name: "Created", isNumber: true, show: (workflow) => <Time at={workflow.created_at} /> },
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
