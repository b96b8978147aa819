// The API keys of the deployment, without their secrets: what each may do, and until when.

import type { Action } from "../action";
import { ActionButton } from "../action";
import { PAGE, address, link } from "../address";
import { call, callAt, read } from "../api";
import { Code, Empty, Heading, State, Time } from "../parts";
import { useData } from "../polling";
import { Table } from "../table";

interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly scopes: readonly string[];
  readonly queues: readonly string[];
  readonly types: readonly string[];
  readonly created_at: string;
  readonly expires_at?: string;
  readonly secrets: readonly { readonly expires_at?: string }[];
}

interface KeyPage {
  readonly api_keys: readonly ApiKey[];
  readonly next_cursor?: string;
}

interface Manifest {
  readonly authentication: { readonly schemes: readonly string[] };
}

/** Read a page of keys; a server that knows callers by something else has none to ask for. */
async function load(cursor: string): Promise<KeyPage> {
  const { schemes } = (await callAt<Manifest>("GET", new URL("ojs/manifest", PAGE))).value.authentication;
  if (schemes.length > 0 && !schemes.includes("api-key")) return { api_keys: [] };
  return read<KeyPage>(`admin/api-keys?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
}

export function ApiKeys() {
  const cursor = address.value.query.get("cursor") ?? "";
  const loaded = useData(() => load(cursor), 60, `keys ${cursor}`);
  const heading = <Heading text="API keys" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  return (
    <>
      {heading}
      <Table
        label="API keys"
        rows={data.api_keys}
        nameOf={(key) => key.id}
        none={<Empty title="There are no API keys."><p>Without keys everybody who reaches the server may do everything, unless it asks for IAM or tokens.</p></Empty>}
        columns={[
          { name: "Name", kind: "name", show: (key) => key.name },
          { name: "Key", from: 900, show: (key) => <span class="id">{key.id}</span> },
          { name: "State", kind: "state", show: (key) => <State name={key.state} /> },
          { name: "Scopes", show: (key) => key.scopes.join(", ") },
          { name: "Queues", show: (key) => key.queues.join(", ") || "all" },
          { name: "Job types", show: (key) => key.types.join(", ") || "all" },
          { name: "Created", show: (key) => <Time at={key.created_at} /> },
          { name: "Expires", show: (key) => <Time at={key.expires_at} /> },
          { name: "Old secret valid until", from: 1200, show: (key) => <Time at={key.secrets.find((secret) => secret.expires_at)?.expires_at} /> },
          { name: "Change", kind: "actions", show: (key) => key.state === "valid" && <ActionButton action={() => revoke(key)} /> },
        ]}
      />
      {data.next_cursor && <p><a href={link(["api-keys"], { cursor: data.next_cursor })}>Next keys</a></p>}
      <p class="quiet">Keys are created and rotated on the command line, which shows the secret once:</p>
      <Code label="A command that creates a key" text="ojs-aws keys create checkout --scope producer" />
    </>
  );
}

function revoke(key: ApiKey): Action {
  return {
    title: `Revoke the key ${key.name}?`,
    explanation: "Whoever uses it is refused from then on; a gateway that remembers keys refuses within 5 minutes by default. This cannot be undone.",
    command: `ojs-aws keys revoke ${key.id}`,
    verb: "Revoke",
    typed: key.name,
    run: async () => {
      await call("POST", `admin/api-keys/${encodeURIComponent(key.id)}/revoke`);
      return `The key ${key.name} is revoked.`;
    },
  };
}
