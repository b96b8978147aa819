// The pieces that all views are made of: headings, tables, times, states, errors, copying.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { link } from "./address";
import { shown } from "./bidi";
import { copyText } from "./clipboard";
import { Icon, type IconName, LOOKS } from "./icons";
import { ApiError } from "./api";
import type { Loaded } from "./polling";
import type { Pagination } from "./shapes";
import { ISSUER, signInReason } from "./session";
import { exactTime, now, relativeTime, zone } from "./times";

interface HeadingOptions {
  readonly text: string;
  /** The kind of thing that the text begins with: the path in the top bar shows it. */
  readonly kind?: string;
  /** What the view loads: below the heading stands that it is not there yet, or that its latest update failed. */
  readonly of?: Loaded<unknown>;
  /** What stands beside the name: state, id. */
  readonly beside?: ComponentChildren;
  /** What can be done. */
  readonly children?: ComponentChildren;
}

/** A space at which no line ends: what is left out before it has no line of its own. */
export const JOINED = "\u00a0";

/** What the present view is called, for the top bar. */
export const viewName = signal("");

/** A view's heading, which is also the title of the tab. A list's name stands in the top bar already. */
export function Heading({ text, kind, of: loaded, beside, children }: HeadingOptions) {
  const isOfList = kind === undefined;
  const name = kind ? text.slice(kind.length + 1) : text;
  useEffect(() => {
    document.title = `${text} · jobs`;
    viewName.value = name;
  }, [text]);
  return (
    <>
      <div class={isOfList && !children ? "heading of-list" : "heading"}>
        <h1 id="heading" tabIndex={-1} class={isOfList ? "unseen" : ""}>{kind && <span class="left-out">{kind}{JOINED}</span>}{name}</h1>
        {beside}
        {children && <div class="actions">{children}</div>}
      </div>
      {loaded && (loaded.data ? <StaleNote error={loaded.error} /> : <Waiting error={loaded.error} />)}
    </>
  );
}

/** An instant, relative to now; its title has the exact one. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="quiet none">–</span>;
  return <time dateTime={at} title={exactTime(at, zone.value)}>{relativeTime(at, now.value)}</time>;
}

const INSTANT = /((?:\bat )?\d{4}-\d\d-\d\dT[\d:.]+Z(?:, in [^,.;]*)?)/;

/** A sentence of the server; an instant in it is shown as one that moves on. */
export function Sentence({ text }: { text: string }) {
  return (
    <>
      {text.split(INSTANT).map((part, index) => {
        const at = index % 2 === 1 ? part.match(/\d{4}-[^,]*/)?.[0] : undefined;
        if (!at) return shown(part);
        // "It is due at ..." can say "in 5 s" there; "It is scheduled for ..." cannot.
        return part.startsWith("at ") ? <Time key={index} at={at} /> : <span key={index}><ExactTime at={at} />, <Time at={at} /></span>;
      })}
    </>
  );
}

/** An instant to the millisecond; its title has the relative one. */
export function ExactTime({ at }: { at: string }) {
  return <time dateTime={at} title={relativeTime(at, now.value)}>{exactTime(at, zone.value)}</time>;
}

/** A state: an icon and its name, in a colour. */
export function State({ name, label = name.replaceAll("-", " "), isPlain = false }: { name: string; label?: string; isPlain?: boolean }) {
  const [icon, look] = LOOKS[name] ?? ["note", "note"];
  return <span class={`${isPlain ? "plain" : "pill"} st-${look}`}><Icon name={icon} isSmall /><span class="word">{label}</span></span>;
}

/** An id: its last six characters; the whole one is in the tooltip, for screen readers, and in what is copied. */
export function Id({ id, to }: { id: string; to?: string | undefined }) {
  const text = <><span class="left-out">{id.slice(0, -6)}</span>{id.slice(-6)}</>;
  return (
    <span class="short-id">
      {to ? <a class="id" href={to} title={id}>{text}</a> : <span class="id" title={id}>{text}</span>}
      <CopyIcon text={id} label={`Copy ${id}`} />
    </span>
  );
}

export function JobLink({ id }: { id: string }) {
  return <Id id={id} to={link(["jobs", id])} />;
}

/** A job's type, which leads to the job. */
export function TypeLink({ id, type }: { id: string; type: string }) {
  return <a class="name" href={link(["jobs", id])}>{type}</a>;
}

/** A type of error and its message; the whole text is in the tooltip. */
export function ErrorText({ error }: { error: { readonly type?: string; readonly message?: string } | undefined }) {
  if (!error) return null;
  const message = shown(error.message ?? "");
  return <span class="cut" title={[error.type, message].filter(Boolean).join(": ")}><strong>{error.type}</strong> {message}</span>;
}

export function QueueLink({ name }: { name: string }) {
  return <a href={link(["queues", name])}>{name}</a>;
}

/** What went wrong, in the server's words, with what to do next. */
export function ErrorNote({ error }: { error: unknown }) {
  if (!error) return null;
  const message = error instanceof Error ? error.message : String(error);
  const refusal = error instanceof ApiError ? error : null;
  return (
    <div class="note bad" role="alert">
      <p><strong>That did not work.</strong> {message}</p>
      {refusal?.requestId && <p class="quiet">Request {refusal.requestId}</p>}
      {refusal && [401, 403].includes(refusal.status) && (
        <button type="button" onClick={() => { signInReason.value = message; }}>{ISSUER ? "Sign in again" : "Use another key"}</button>
      )}
    </div>
  );
}

/** What went wrong with the latest update, while the view shows what it had before. Nothing else moves for it. */
export function StaleNote({ error }: { error: unknown }) {
  return error ? <div class="stale"><ErrorNote error={error} /></div> : null;
}

/** What is shown until the first answer is there. */
export function Waiting({ error }: { error: unknown }) {
  if (!error) return <p class="quiet" role="status">Loading …</p>;
  const status = error instanceof ApiError ? error.status : -1;
  return (
    <>
      <ErrorNote error={error} />
      {(status === 0 || status === 429 || status >= 500) && <p class="quiet">This page asks again by itself.</p>}
      {status === 404 && <p class="quiet">It may have been deleted, or it ended long ago: what has ended is removed when its retention is over.</p>}
    </>
  );
}

/** Names with their values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

/** Say for a moment what became of a copy. */
function useCopy(text: string): readonly [string, () => void] {
  const [answer, setAnswer] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAnswer(""), 2500);
    return () => clearTimeout(timer);
  }, [answer]);
  return [answer, () => void copyText(text).then((isCopied) => setAnswer(isCopied ? "Copied" : "Select and copy it by hand"))];
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [answer, copy] = useCopy(text);
  return <button type="button" class="small" onClick={copy}><Icon name="copy" isSmall /><span aria-live="polite">{answer || label}</span></button>;
}

/** Copies a text behind an icon; the tooltip shows the text. */
export function CopyIcon({ text, label, icon = "copy" }: { text: string; label: string; icon?: IconName }) {
  const [answer, copy] = useCopy(text);
  return (
    <button type="button" class="icon-button copy" aria-label={label} title={icon === "copy" ? label : `${text}\nClick to copy`} onClick={copy}>
      <Icon name={answer ? "check" : icon} isSmall={icon === "copy"} /><span class="unseen" aria-live="polite">{answer}</span>
    </button>
  );
}

/** A command line or another text to copy. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label}>{shown(text)}</pre>
      <CopyIcon text={text} label="Copy" />
    </div>
  );
}

/** Return a count that may be a lower bound. */
export function atLeast(count: number, isExact: boolean): string {
  return `${isExact ? "" : "at least "}${count.toLocaleString("en")}`;
}

/** Return how many entries of a list match, as far as its answer knows it. */
export function matching(page: Pagination): string {
  const { total, total_is: kind = page.total_is_exact === false ? "at_least" : "exact" } = page;
  if (total === undefined || (kind === "at_least" && total === 0)) {
    return "";
  }
  const sureness = { exact: "", estimate: "about ", at_least: "at least " }[kind];
  const text = `${sureness}${total.toLocaleString("en")} match. `;
  return capital(text);
}

/** Return a text with its first letter in upper case. */
export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Return a number of things: `1 job`, `2 jobs`. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}

/** Return a count for a tile: above ten thousand in thousands, with a plus for a lower bound. */
export function shortCount(count: number, isExact = true): string {
  const plus = isExact ? "" : "+";
  if (count < 20_000) return count.toLocaleString("en") + plus;
  if (count < 999_500) return `${(count / 1000).toFixed(count < 99_950 ? 1 : 0)}k${plus}`;
  return `${(count / 1_000_000).toFixed(1)}M${plus}`;
}

/** A box with a heading. */
export function Card({ title, note, tools, children, level = 2, kind = "" }: { title: string; note?: ComponentChildren; tools?: ComponentChildren; children: ComponentChildren; level?: 2 | 3; kind?: string }) {
  const Title = level === 2 ? "h2" : "h3";
  return (
    <section class={`card ${kind}`}>
      <div class="card-head"><Title>{title}</Title>{note && <span class="quiet">{note}</span>}{tools && <div class="tools">{tools}</div>}</div>
      {children}
    </section>
  );
}

/** Says why a list is empty, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><p><strong>{title}</strong></p>{children}</div>;
}
