// The frame around each view: menu, search, switches, and the line that says how fresh everything is.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { ActionDialog, Done, noteDone } from "./action";
import { address, link, open } from "./address";
import { Time } from "./parts";
import { isIdle, refresh, updatedAt } from "./polling";
import { SignIn, SignOutButton } from "./sign_in";
import { keepZone, zone } from "./times";
import { ApiKeys } from "./pages/api_keys";
import { Cron } from "./pages/cron";
import { CronJob } from "./pages/cron_job";
import { DeadLetters } from "./pages/dead_letters";
import { Errors } from "./pages/errors";
import { Events } from "./pages/events";
import { Job } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Limits } from "./pages/limits";
import { Overview } from "./pages/overview";
import { Queue } from "./pages/queue";
import { Queues } from "./pages/queues";
import { Schema } from "./pages/schema";
import { Schemas } from "./pages/schemas";
import { Settings } from "./pages/settings";
import { Workers } from "./pages/workers";
import { Workflow } from "./pages/workflow";
import { Workflows } from "./pages/workflows";

interface View {
  readonly path: string;
  readonly name: string;
  readonly page: ComponentType;
  /** The view of one thing, whose id follows in the path. */
  readonly one?: ComponentType<{ id: string }>;
}

const VIEWS: readonly View[] = [
  { path: "", name: "Overview", page: Overview },
  { path: "queues", name: "Queues", page: Queues, one: Queue },
  { path: "jobs", name: "Jobs", page: Jobs, one: Job },
  { path: "errors", name: "Errors", page: Errors },
  { path: "dead-letters", name: "Dead letters", page: DeadLetters },
  { path: "workers", name: "Workers", page: Workers },
  { path: "cron", name: "Cron", page: Cron, one: CronJob },
  { path: "workflows", name: "Workflows", page: Workflows, one: Workflow },
  { path: "limits", name: "Limits", page: Limits },
  { path: "schemas", name: "Schemas", page: Schemas, one: Schema },
  { path: "events", name: "Events", page: Events },
  { path: "api-keys", name: "API keys", page: ApiKeys },
  { path: "settings", name: "Settings", page: Settings },
];

const JOB_ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

export function Shell() {
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      const isTyping = (event.target as Element).closest("input, textarea, dialog");
      const id = event.clipboardData?.getData("text").match(JOB_ID)?.[0];
      if (!isTyping && id) open(["jobs", id.toLowerCase()]);
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, []);
  return (
    <>
      <a class="skip" href="#heading" onClick={(event) => { event.preventDefault(); document.getElementById("heading")?.focus(); }}>
        Skip to the content
      </a>
      <header>
        <Menu />
        <Search />
        <div class="switches">
          <ZoneSwitch />
          <ThemeSwitch />
          <SignOutButton />
        </div>
      </header>
      <main>
        <CurrentView />
      </main>
      <footer>
        <Freshness />
      </footer>
      <ActionDialog />
      <SignIn />
    </>
  );
}

function Menu() {
  const present = address.value.parts[0] ?? "";
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [address.value]);
  return (
    <nav aria-label="Views" class={isOpen ? "open" : ""}>
      <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true">☰</span> {VIEWS.find((each) => each.path === present)?.name ?? "Menu"}
      </button>
      <ul>
        {VIEWS.map((each) => (
          <li key={each.path}>
            <a href={link(each.path ? [each.path] : [])} aria-current={each.path === present ? "page" : undefined}>{each.name}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function CurrentView() {
  const [path = "", id] = address.value.parts;
  const view = VIEWS.find((each) => each.path === path);
  const isFirst = useRef(true);
  useEffect(() => {
    noteDone("");
    if (!isFirst.current) {
      scrollTo(0, 0);
      document.getElementById("heading")?.focus();
    }
    isFirst.current = false;
  }, [path, id]);
  if (!view || (id !== undefined && !view.one)) return <p>There is no such view. <a href={link([])}>Overview</a></p>;
  const One = view.one;
  const Page = view.page;
  return <><Done />{id !== undefined && One ? <One key={id} id={id} /> : <Page />}</>;
}

function Search() {
  const [text, setText] = useState("");
  const find = (wanted: string): void => {
    const id = wanted.match(JOB_ID)?.[0];
    setText("");
    if (id) open(["jobs", id.toLowerCase()]);
    else if (wanted.trim()) open(["jobs"], { type: wanted.trim() });
  };
  const input = (value: string): void => {
    if (new RegExp(`^\\s*${JOB_ID.source}\\s*$`, "i").test(value)) find(value);
    else setText(value);
  };
  return (
    <form role="search" onSubmit={(event) => { event.preventDefault(); find(text); }}>
      <label>
        <span class="unseen">Job id or job type</span>
        <input type="search" placeholder="Job id, type or mail.*" value={text} onInput={(event) => input(event.currentTarget.value)} />
      </label>
    </form>
  );
}

function ZoneSwitch() {
  const isUtc = zone.value === "utc";
  return <button type="button" aria-pressed={isUtc} onClick={() => keepZone(isUtc ? "local" : "utc")}>UTC</button>;
}

const THEMES = ["auto", "light", "dark"] as const;
const theme = signal(localStorage.getItem("ojs-theme") ?? "auto");

function ThemeSwitch() {
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  }, [theme.value]);
  const choose = (chosen: string): void => {
    theme.value = chosen;
    localStorage.setItem("ojs-theme", chosen);
  };
  return (
    <label>
      <span class="unseen">Colours</span>
      <select value={theme.value} onChange={(event) => choose(event.currentTarget.value)}>
        {THEMES.map((each) => <option key={each} value={each}>{each}</option>)}
      </select>
    </label>
  );
}

function Freshness() {
  if (isIdle.value) {
    return <p role="status">Updates stopped after 30 minutes without input. <button type="button" onClick={refresh}>Go on</button></p>;
  }
  return (
    <p>
      {updatedAt.value ? <>Updated <Time at={updatedAt.value} /></> : "Not loaded yet"}{" "}
      <button type="button" class="small" onClick={refresh}>Refresh</button>
    </p>
  );
}
