// The schema of one job type: its versions, and the text of one as it was registered.

import { address } from "../address";
import { call, read } from "../api";
import { at, readSource } from "../json_source";
import { Facts, Heading, Time } from "../parts";
import { useData } from "../polling";
import { Value } from "./job_data";
import { type SchemaRow, SchemaTable } from "./schemas";

interface Everything {
  readonly versions: readonly SchemaRow[];
  readonly shown: SchemaRow;
  readonly text: string;
}

export function Schema({ id }: { id: string }) {
  const wanted = address.value.query.get("version") ?? "";
  const loaded = useData(() => load(id, wanted), 60, `schema ${id} ${wanted}`);
  const heading = <Heading text={`Schema of ${id}`} kind="Schema of" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  return (
    <>
      {heading}
      <section class="card facts-card"><Facts
        facts={[
          ["Version", `${data.shown.version}${data.shown.is_latest ? " (latest)" : ""}`],
          ["Address", <span class="id">{data.shown.uri}</span>],
          ["Registered", <Time at={data.shown.created_at} />],
        ]}
      /></section>
      <Value key={data.shown.uri} title="Schema" text={data.text} />
      <h2>Versions</h2>
      <SchemaTable rows={data.versions} none="There are no versions." />
    </>
  );
}

async function load(type: string, version: string): Promise<Everything> {
  const base = `admin/schemas/${encodeURIComponent(type)}`;
  const { versions } = await read<{ versions: readonly SchemaRow[] }>(`${base}/versions`);
  const shown = versions.find((each) => !version || String(each.version) === version);
  if (!shown) throw new Error(`The schema of ${type} has no version ${version}.`);
  const { text } = await call("GET", `${base}/${encodeURIComponent(String(shown.version))}`);
  return { versions, shown, text: at(readSource(text), "schema")?.text ?? text };
}
