// One tenant: its jobs by state, what it did in a day, and its limits with what is used of each.

import { ActionButton } from "../action";
import { address, link } from "../address";
import { read } from "../api";
import { Icon, LOOKS } from "../icons";
import { Card, Facts, Heading, JobLink, QueueLink, State, Time, TypeLink, shortCount } from "../parts";
import { useData } from "../polling";
import { type JobPage, STATES } from "../shapes";
import { Table } from "../table";
import { type TenantRow, TenantState, limitText, suspension } from "./tenants";

interface Everything {
  readonly tenant: TenantRow;
  readonly jobs: JobPage;
}

async function load(id: string, query: URLSearchParams): Promise<Everything> {
  const path = `admin/tenants/${encodeURIComponent(id)}`;
  const tenant = await read<TenantRow>(`${path}/stats`);
  return { tenant, jobs: await read<JobPage>(`${path}/jobs?${query}`) };
}

export function Tenant({ id }: { id: string }) {
  const state = address.value.query.get("state") ?? "available";
  const cursor = address.value.query.get("cursor") ?? "";
  const query = new URLSearchParams({ limit: "50", state, ...(cursor && { cursor }) });
  const loaded = useData(() => load(id, query), 15, `tenant ${id} ${query}`, true);
  const text = `Tenant ${id}`;
  const { data } = loaded;
  if (!data) return <Heading text={text} kind="Tenant" of={loaded} />;
  const { tenant, jobs } = data;
  const { throughput, limits } = tenant;
  const next = jobs.pagination.next_cursor;
  return (
    <>
      <Heading text={text} kind="Tenant" of={loaded} beside={<TenantState of={tenant} />}>
        <ActionButton isSmall={false} action={() => suspension(tenant)} />
      </Heading>
      <section class="card facts-card">
        <Facts
          facts={[
            ["Enqueued a minute", throughput.enqueued_per_minute],
            ["Ended a minute", throughput.processed_per_minute],
            ["Completed in 24 h", (tenant.jobs["completed_24h"] ?? 0).toLocaleString("en")],
            ["Failed in 24 h", (tenant.jobs["failed_24h"] ?? 0).toLocaleString("en")],
            ...Object.entries(limits).map(([name, value]) => [name, limitText(value)] as const),
          ]}
        />
      </section>
      <nav aria-label="States">
        <ul class="state-tabs">
          {STATES.map((each) => (
            <li key={each}>
              <a href={link(["tenants", id], { state: each })} aria-current={each === state ? "true" : undefined} class={`st-${LOOKS[each]?.[1]}`}>
                <Icon name={LOOKS[each]?.[0] ?? "note"} /><span class="word">{each}</span> <span class="count">{shortCount(tenant.jobs[each] ?? 0)}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Card title="Jobs">
        <Table
          label="Jobs"
          rows={jobs.items}
          nameOf={(job) => job.id}
          none={next ? "None of the jobs looked at is the tenant's." : "It has no such job."}
          columns={[
            { name: "Type", kind: "name", show: (job) => <TypeLink id={job.id} type={job.type} /> },
            { name: "Id", kind: "id", show: (job) => <JobLink id={job.id} /> },
            { name: "State", kind: "state", show: (job) => <State name={job.state} /> },
            { name: "Queue", kind: "fact", show: (job) => <QueueLink name={job.queue} /> },
            { name: "Created", isNumber: true, from: 900, show: (job) => <Time at={job.created_at} /> },
          ]}
        />
      </Card>
      {next && <p><a href={link(["tenants", id], { state, cursor: next })}>Next jobs</a></p>}
    </>
  );
}
