// What the server is, what it can do, whom it takes the caller for, and how it is set.

import { callAt, read, readIfAllowed } from "../api";
import { PAGE } from "../address";
import { Card, Facts, Heading } from "../parts";
import { useData } from "../polling";
import { settingText } from "../times";

interface Manifest {
  readonly specversion: string;
  readonly implementation: { readonly name: string; readonly version: string };
  readonly conformance_level?: number;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

interface Caller {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly queues: readonly string[];
  readonly types: readonly string[];
}

interface Everything {
  readonly caller: Caller;
  readonly manifest: Manifest;
  /** Null where the credential may not read them. */
  readonly settings: Readonly<Record<string, unknown>> | null;
}

async function load(before: Everything | null, isAsked: boolean): Promise<Everything> {
  if (before && !isAsked) return before;
  const manifest = (await callAt<Manifest>("GET", new URL("ojs/manifest", PAGE))).value;
  const found = await readIfAllowed<{ settings: Everything["settings"] }>("admin/config");
  return { manifest, settings: found?.settings ?? null, caller: await read<Caller>("whoami") };
}

export function Settings() {
  const loaded = useData(load, 600, "settings");
  const heading = <Heading text="Settings" of={loaded} />;
  const { data } = loaded;
  if (!data) return heading;
  const { manifest, settings, caller } = data;
  return (
    <>
      {heading}
      <Card title="Server"><Facts
        facts={[
          ["Server", `${manifest.implementation.name} ${manifest.implementation.version}`],
          ["Open Job Spec", manifest.specversion],
          ["Conformance level", manifest.conformance_level ?? "–"],
          ["Capabilities", Object.entries(manifest.capabilities).filter(([, has]) => has).map(([name]) => name.replaceAll("_", " ")).join(", ")],
        ]}
      />
      </Card>
      <Card title="Who you are"><Facts
        facts={[
          ["Name", caller.name || "–"],
          ["Scopes", caller.scopes.join(", ") || "none"],
          ["Queues", caller.queues.join(", ") || "all"],
          ["Job types", caller.types.join(", ") || "all"],
        ]}
      />
      </Card>
      <Card title="How the backend is set">
      {settings
        ? <Facts facts={Object.entries(settings).map(([name, value]) => [name, settingText(name, value)] as const)} />
        : <p>Your credentials may not read the settings.</p>}
      </Card>
      <p><a href="LICENSES.txt">Licences of the software in this page</a></p>
    </>
  );
}
