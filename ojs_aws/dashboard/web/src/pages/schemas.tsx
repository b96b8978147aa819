// The schemas of job types, to read.

import type { ComponentChildren } from "preact";
import { address, link } from "../address";
import { read } from "../api";
import { Code, Empty, Heading, Time } from "../parts";
import { useData } from "../polling";
import { SERVER } from "../quoting";
import { keyOption } from "../session";
import type { Pagination } from "../shapes";
import { Table } from "../table";

export interface SchemaRow {
  readonly uri: string;
  readonly type: string;
  readonly version: string | number;
  readonly created_at: string;
  readonly is_latest?: boolean;
}

interface SchemaPage {
  readonly items: readonly SchemaRow[];
  readonly pagination: Pagination;
}

const first = (): string => `curl -X PUT ${SERVER}/ojs/v1/schemas/report.build/1 \\
  -H 'Content-Type: application/json'${keyOption()} \\
  -d '{"schema": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1}}'`;

export function Schemas() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => read<SchemaPage>(`admin/schemas?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), 60, `schemas ${cursor}`);
  const heading = <Heading text="Schemas" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const next = data.pagination.next_cursor;
  return (
    <>
      {heading}
      <SchemaTable rows={data.items} none={<Empty title="No job type has a schema."><p>A schema says which arguments a type accepts; what does not fit is refused when it is sent. This one accepts a single text:</p><Code label="A request that registers a schema" text={first()} /></Empty>} />
      {next && <p><a href={link(["schemas"], { cursor: next })}>Next schemas</a></p>}
    </>
  );
}

/** Versions of schemas; a version is a link to its text. */
export function SchemaTable({ rows, none }: { rows: readonly SchemaRow[]; none: ComponentChildren }) {
  return (
    <Table
      label="Schemas"
      rows={rows}
      nameOf={(schema) => schema.uri}
      none={none}
      columns={[
        { name: "Type", kind: "name", show: (schema) => <a href={link(["schemas", schema.type])}>{schema.type}</a> },
        {
          name: "Version",
          show: (schema) => <><a href={link(["schemas", schema.type], { version: String(schema.version) })}>{schema.version}</a> {schema.is_latest && "(latest)"}</>,
        },
        { name: "Address", from: 900, show: (schema) => <span class="id">{schema.uri}</span> },
        { name: "Registered", show: (schema) => <Time at={schema.created_at} /> },
      ]}
    />
  );
}
