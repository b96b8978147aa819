// Search: jobs by their id, queues, types of jobs, views and actions. Actions ask before they do anything.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Action, ask } from "./action";
import { open } from "./address";
import { Icon, type IconName } from "./icons";
import { shortCount } from "./parts";
import { queueChange } from "./pages/queue_actions";
import { menu } from "./totals";
import { knownTypes } from "./types_seen";
import { VIEWS } from "./views";

/** True while the search is open. */
export const isSearching = signal(false);

const JOB_ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const MOST_OF_A_KIND = 5;

interface Hit {
  readonly group: string;
  readonly icon: IconName;
  readonly before: string;
  /** The part that is searched. */
  readonly name: string;
  readonly after?: string;
  readonly note: string;
  readonly go: () => void;
}

export function Palette() {
  return isSearching.value ? <Search /> : null;
}

/** Return what a text may mean. */
function hitsOf(text: string): Hit[] {
  const wanted = text.trim();
  const low = wanted.toLowerCase();
  const fits = (name: string): boolean => name.toLowerCase().includes(low);
  const { counts, queues } = menu.value;
  const id = wanted.match(JOB_ID)?.[0]?.toLowerCase();
  const hit = (group: string, icon: IconName, before: string, name: string, note: string, go: () => void, after = ""): Hit => ({ group, icon, before, name, note, go, after });
  const change = (action: () => Action) => () => ask(action());
  const shownQueues = queues.filter((queue) => fits(queue.name)).slice(0, MOST_OF_A_KIND);
  const types = knownTypes().filter(fits).slice(0, MOST_OF_A_KIND);
  const views = VIEWS.filter((view) => fits(view.name));
  const ofQueue = shownQueues.map((queue) => hit("Queues and views", "layers", "Queue ", queue.name, `${shortCount(queue.counts["available"] ?? 0)} wait`, () => open(["queues", queue.name])));
  const ofView = views.map((view) => hit("Queues and views", view.icon, "", view.name, counts[view.path] === undefined ? "" : shortCount(counts[view.path] ?? 0), () => open(view.path ? [view.path] : [])));
  return [
    ...(id ? [hit("Jobs", "list", "Job ", id, "", () => open(["jobs", id]))] : []),
    ...(wanted && !id && !types.includes(wanted) ? [hit("Job types", "list", "Jobs of the type ", wanted, "", () => open(["jobs"], { type: wanted }))] : []),
    ...types.map((type) => hit("Job types", "list", "", type, "jobs", () => open(["jobs"], { type }))),
    ...(wanted && !id && !wanted.endsWith("*") ? [hit("Job types", "list", "All types that begin with ", wanted, "", () => open(["jobs"], { type: `${wanted}*` }))] : []),
    ...(wanted ? [...ofQueue, ...ofView] : [...ofView, ...ofQueue]),
    ...(wanted ? shownQueues.flatMap(({ name, paused }) => [
      paused
        ? hit("Actions", "active", "Resume queue ", name, "asks first", change(() => queueChange(name, "resume")), "…")
        : hit("Actions", "paused", "Pause queue ", name, "asks first", change(() => queueChange(name, "pause")), "…"),
      hit("Actions", "inbox", "Dead letters of ", name, "", () => open(["dead-letters"], { queue: name })),
    ]) : []),
  ];
}

function Search() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const hits = hitsOf(text);
  const chosen = Math.min(at, hits.length - 1);
  const close = (): void => {
    dialog.current?.close();
    isSearching.value = false;
  };
  const take = (hit: Hit | undefined): void => {
    if (!hit) return;
    close();
    hit.go();
  };
  const input = (value: string): void => {
    setText(value);
    setAt(0);
    // A whole id leaves no choice.
    if (new RegExp(`^\\s*${JOB_ID.source}\\s*$`, "i").test(value)) take(hitsOf(value)[0]);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (chosen + step + hits.length) % Math.max(1, hits.length);
    setAt(next);
    document.getElementById(`hit-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search" onClose={close} onClick={(event) => { if (event.target === dialog.current) close(); }}>
      <form role="search" onSubmit={(event) => { event.preventDefault(); take(hits[chosen]); }}>
        <Icon name="search" />
        <input type="search" aria-label="Job id, job type, queue or view" autocomplete="off" spellcheck={false} aria-controls="hits" aria-activedescendant={`hit-${chosen}`}
          value={text} onInput={(event) => input(event.currentTarget.value)} onKeyDown={key} />
        <button type="button" class="small" onClick={close}>Esc</button>
      </form>
      <ul id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, index) => (
          <li key={`${hit.before}${hit.name}${hit.group}`} id={`hit-${index}`} role="option" aria-selected={index === chosen} onClick={() => take(hit)} data-group={hits[index - 1]?.group === hit.group ? undefined : hit.group}>
            <span class="hit"><Icon name={hit.icon} /><span class="word">{hit.before}<Marked text={hit.name} part={text.trim()} />{hit.after}</span><span class="quiet">{hit.note}</span></span>
          </li>
        ))}
      </ul>
      <p class="keys quiet"><span><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>↵</kbd> open</span><span>Paste a whole id anywhere to open its job</span></p>
    </dialog>
  );
}

/** A name, with the part of it that was searched for. */
function Marked({ text, part }: { text: string; part: string }) {
  const at = part ? text.toLowerCase().indexOf(part.toLowerCase()) : -1;
  if (at < 0) return <strong>{text}</strong>;
  return <strong>{text.slice(0, at)}<mark>{text.slice(at, at + part.length)}</mark>{text.slice(at + part.length)}</strong>;
}
