// The frame around each view: menu, environment, top bar.

import { useEffect, useRef, useState } from "preact/hooks";
import { ActionDialog, Done, noteDone } from "./action";
import { address, link, open } from "./address";
import { ENVIRONMENT } from "./environment";
import { Icon, Sprite } from "./icons";
import { shortCount, viewName } from "./parts";
import { Palette, isSearching } from "./palette";
import { SignIn, SignOutButton } from "./sign_in";
import { Live, ThemeSwitch, ZoneSwitch } from "./switches";
import { menu } from "./totals";
import { GROUPS, VIEWS, type View } from "./views";

export const JOB_ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

export function Shell() {
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      const isTyping = (event.target as Element).closest("input, textarea, dialog");
      const id = event.clipboardData?.getData("text").match(JOB_ID)?.[0];
      if (!isTyping && id) open(["jobs", id.toLowerCase()]);
    };
    const key = (event: KeyboardEvent): void => {
      const isTyping = (event.target as Element).closest("input, textarea, select, dialog");
      const isMeant = (event.key === "/" && !isTyping) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey));
      if (!isMeant || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      isSearching.value = true;
    };
    document.addEventListener("paste", paste);
    document.addEventListener("keydown", key);
    return () => {
      document.removeEventListener("paste", paste);
      document.removeEventListener("keydown", key);
    };
  }, []);
  return (
    <>
      <Sprite />
      <a class="skip" href="#heading" onClick={(event) => { event.preventDefault(); document.getElementById("heading")?.focus(); }}>
        Skip to the content
      </a>
      <div class={`frame env-${ENVIRONMENT.kind}`}>
        <Side />
        <header class="bar">
          <Place />
          <SearchButton />
          <Live />
          <EnvironmentMark />
          <div class="switches">
            <ZoneSwitch />
            <ThemeSwitch />
          </div>
        </header>
        <main>
          <CurrentView />
          <Done />
        </main>
        <Tabs />
      </div>
      <ActionDialog />
      <Palette />
      <SignIn />
    </>
  );
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 22 22" aria-hidden="true">
      <rect class="base" width="22" height="22" rx="5" />
      <rect class="top" x="9" y="5" width="8.5" height="3" rx="1.5" />
      <rect class="line" x="5" y="9.5" width="9" height="3" rx="1.5" />
      <rect class="line" x="5" y="14" width="5.5" height="3" rx="1.5" />
    </svg>
  );
}

function EnvironmentMark() {
  return <span class="environment" title={`${ENVIRONMENT.name} ${ENVIRONMENT.place}`}><strong>{ENVIRONMENT.name}</strong><span class="place">{ENVIRONMENT.place}</span></span>;
}

function Side() {
  const present = address.value.parts[0] ?? "";
  return (
    <aside class="side" aria-label="Menu">
      <p class="brand"><Logo /><strong>ojs-aws</strong></p>
      <EnvironmentMark />
      <nav aria-label="Views">
        {GROUPS.map((group) => (
          <div key={group} class="group">
            {group && <p class="group-name" aria-hidden="true">{group}</p>}
            <ul aria-label={group || undefined}>
              {VIEWS.filter((view) => view.group === group).map((view) => <Entry key={view.path} view={view} isPresent={view.path === present} />)}
            </ul>
          </div>
        ))}
      </nav>
      <p class="who"><SignOutButton /></p>
    </aside>
  );
}

function Entry({ view, isPresent }: { view: View; isPresent: boolean }) {
  const count = menu.value.counts[view.path];
  const isAlarmed = menu.value.alarms.has(view.path);
  return (
    <li class={isPresent ? "present" : ""} title={view.name}>
      <a href={link(view.path ? [view.path] : [])} aria-current={isPresent ? "page" : undefined}><Icon name={view.icon} /><span class="word">{view.name}</span></a>
      {(count !== undefined || isAlarmed) && (
        <span class={isAlarmed ? "badge alarmed" : "badge"}>
          {isAlarmed && <><Icon name="alert" /><span class="unseen">needs attention</span></>}<span class="word">{count !== undefined && shortCount(count)}</span>
        </span>
      )}
    </li>
  );
}

/** Where one is: the view, and the thing in it. */
function Place() {
  const [path = "", id] = address.value.parts;
  const view = VIEWS.find((each) => each.path === path);
  return (
    <div class="path">
      {id === undefined ? <Logo /> : <a class="icon-button back" href={link([path])} aria-label={`Back to ${view?.name ?? "the list"}`}><Icon name="back" /></a>}
      {id !== undefined && view && <span class="above"><a href={link([path])}>{view.name}</a> <span aria-hidden="true">/</span></span>}
      <strong>{id === undefined ? view?.name : viewName.value}</strong>
    </div>
  );
}

function SearchButton() {
  return (
    <button type="button" class="search" onClick={() => { isSearching.value = true; }}>
      <Icon name="search" /><span class="word">Search or paste a job id</span><kbd aria-hidden="true">Ctrl K</kbd>
    </button>
  );
}

const TABS = ["", "jobs", "errors", "queues"];

/** The menu of a phone. */
function Tabs() {
  const present = address.value.parts[0] ?? "";
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [address.value]);
  const item = (view: View) => (
    <li key={view.path}><a href={link(view.path ? [view.path] : [])} aria-current={view.path === present ? "page" : undefined}><Icon name={view.icon} />{view.name}</a></li>
  );
  return (
    <nav class="tabs" aria-label="Main views">
      {isOpen && <div class="sheet"><ul>{VIEWS.filter((view) => !TABS.includes(view.path)).map(item)}</ul><div class="buttons"><ZoneSwitch /><ThemeSwitch /><SignOutButton /></div></div>}
      <ul>
        {VIEWS.filter((view) => TABS.includes(view.path)).map(item)}
        <li><button type="button" aria-expanded={isOpen} class={TABS.includes(present) ? "" : "present"} onClick={() => setOpen(!isOpen)}><Icon name="menu" />More</button></li>
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
  return id !== undefined && One ? <One key={id} id={id} /> : <Page />;
}
