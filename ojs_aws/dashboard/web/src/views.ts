// The views of the menu, in their groups.

import type { ComponentType } from "preact";
import type { IconName } from "./icons";
import { later } from "./later";
import { Cron } from "./pages/cron";
import { DeadLetters } from "./pages/dead_letters";
import { Errors } from "./pages/errors";
import { Events } from "./pages/events";
import { Job } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Limits } from "./pages/limits";
import { Overview } from "./pages/overview";
import { Queue } from "./pages/queue";
import { Queues } from "./pages/queues";
import { Workers } from "./pages/workers";
import { Workflow } from "./pages/workflow";
import { Workflows } from "./pages/workflows";

export interface View {
  readonly path: string;
  readonly name: string;
  readonly group: string;
  readonly icon: IconName;
  readonly page: ComponentType;
  readonly one?: ComponentType<{ id: string }>;
}

export const VIEWS: readonly View[] = [
  { path: "", name: "Overview", group: "", icon: "overview", page: Overview },
  { path: "jobs", name: "Jobs", group: "Work", icon: "list", page: Jobs, one: Job },
  { path: "errors", name: "Errors", group: "Work", icon: "bug", page: Errors },
  { path: "dead-letters", name: "Dead letters", group: "Work", icon: "inbox", page: DeadLetters },
  { path: "workflows", name: "Workflows", group: "Work", icon: "workflow", page: Workflows, one: Workflow },
  { path: "queues", name: "Queues", group: "Flow", icon: "layers", page: Queues, one: Queue },
  { path: "cron", name: "Cron", group: "Flow", icon: "cron", page: Cron, one: later("Cron job", (of) => of.CronJob) },
  { path: "limits", name: "Limits", group: "Flow", icon: "limits", page: Limits },
  { path: "sequences", name: "Sequences", group: "Flow", icon: "forward", page: later("Sequences", (of) => of.Sequences) },
  { path: "tenants", name: "Tenants", group: "Flow", icon: "tenants", page: later("Tenants", (of) => of.Tenants), one: later("Tenant", (of) => of.Tenant) },
  { path: "workers", name: "Workers", group: "Runtime", icon: "server", page: Workers },
  { path: "events", name: "Events", group: "Runtime", icon: "activity", page: Events },
  { path: "schemas", name: "Schemas", group: "Set-up", icon: "edit", page: later("Schemas", (of) => of.Schemas), one: later("Schema", (of) => of.Schema) },
  { path: "api-keys", name: "API keys", group: "Set-up", icon: "key", page: later("API keys", (of) => of.ApiKeys) },
  { path: "settings", name: "Settings", group: "Set-up", icon: "settings", page: later("Settings", (of) => of.Settings) },
];

export const GROUPS = ["", "Work", "Flow", "Runtime", "Set-up"] as const;
