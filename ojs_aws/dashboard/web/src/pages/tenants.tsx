// The tenants: what each has, does and may, and whether it is suspended.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { address, link } from "../address";
import { call, read } from "../api";
import { Code, Empty, Heading, State } from "../parts";
import { useData } from "../polling";
import { ojsAws } from "../quoting";
import type { Counts, Pagination } from "../shapes";
import { Table } from "../table";
import { spelled } from "../times";

export interface TenantRow {
  readonly tenant_id: string;
  readonly state: string;
  readonly total_jobs: number;
  readonly jobs: Counts;
  readonly throughput: { readonly enqueued_per_minute: number; readonly processed_per_minute: number };
  readonly limits: Readonly<Record<string, unknown>>;
}

interface TenantPage {
  readonly items: readonly TenantRow[];
  readonly pagination: Pagination;
}

export function Tenants() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => read<TenantPage>(`admin/tenants?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 15, `tenants ${cursor}`);
  const heading = <Heading text="Tenants" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const next = data.pagination.next_cursor;
  const count = (state: string) => ({ jobs }: TenantRow) => (jobs[state] ?? 0).toLocaleString("en");
  return (
    <>
      {heading}
      <Table
        label="Tenants"
        rows={data.items}
        nameOf={(tenant) => tenant.tenant_id}
        none={<Empty title="No job names a tenant."><p>A tenant is listed once a job names it as <code>tenant_id</code> of its metadata. This key is for the jobs of one:</p><Code label="A command that creates a key" text="ojs-aws keys create acme --scope producer --tenant acme" /></Empty>}
        columns={[
          { name: "Tenant", kind: "name", show: ({ tenant_id: id }) => <a class="name" href={link(["tenants", id])}>{id}</a> },
          { name: "State", kind: "state", show: (tenant) => <TenantState of={tenant} /> },
          { name: "Available", isNumber: true, show: count("available") },
          { name: "Active", isNumber: true, show: count("active") },
          { name: "Scheduled", isNumber: true, from: 1200, show: count("scheduled") },
          { name: "Discarded", isNumber: true, from: 900, show: count("discarded") },
          { name: "In/out a minute", isNumber: true, show: ({ throughput }) => `${throughput.enqueued_per_minute} / ${throughput.processed_per_minute}` },
          { name: "Limits", kind: "fact", from: 900, show: ({ limits }) => limitsText(limits) },
          { name: "Change", kind: "actions", show: (tenant) => <ActionButton action={() => suspension(tenant)} /> },
        ]}
      />
      {next && <p><a href={link(["tenants"], { cursor: next })}>Next tenants</a></p>}
    </>
  );
}

export function TenantState({ of: { state } }: { of: { readonly state: string } }) {
  return <State name={state === "suspended" ? "paused" : "open"} label={state} />;
}

/** Return limits as one line: `max_concurrency 20 (3 now)`. */
function limitsText(limits: TenantRow["limits"]): string {
  return Object.entries(limits).map(([name, value]) => `${name} ${limitText(value)}`).join(", ") || "–";
}

/** Return a limit with what is used of it, where the answer says that. */
export function limitText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { limit, current, period } = value as { limit: number; current?: number; period?: string };
  return [limit.toLocaleString("en"), period && `in ${spelled(period)}`, current !== undefined && `(${current.toLocaleString("en")} now)`].filter(Boolean).join(" ");
}

/** Suspend a tenant, or let it go on. */
export function suspension({ tenant_id: id, state }: { readonly tenant_id: string; readonly state: string }): Action {
  const isSuspended = state === "suspended";
  const change = isSuspended ? "resume" : "suspend";
  const verb = isSuspended ? "Resume" : "Suspend";
  return {
    title: `${verb} the tenant ${id}?`,
    explanation: isSuspended
      ? "Its jobs begin again, and new ones are taken, with the limits that it had. This takes effect within five seconds."
      : "None of its jobs begins, new ones are refused, and runs of its cron jobs are left out. Jobs that run go on. This takes effect within five seconds.",
    command: ojsAws("tenants", change, id),
    verb,
    run: async () => {
      await call("POST", `admin/tenants/${encodeURIComponent(id)}/${change}`);
      return `The tenant ${id} is ${isSuspended ? "active" : "suspended"}.`;
    },
  };
}
