// The pieces that all views are made of: headings, tables, times, states, errors, copying.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { link } from "./address";
import { ApiError } from "./api";
import type { Loaded } from "./polling";
import type { Pagination } from "./shapes";
import { ISSUER, signInReason } from "./session";
import { exactTime, now, relativeTime, zone } from "./times";

interface HeadingOptions {
  readonly text: string;
  /** What the view loads: below the heading stands that it is not there yet, or that its latest update failed. */
  readonly of?: Loaded<unknown>;
  readonly children?: ComponentChildren;
}

/** A view's heading, which is also the title of the tab. */
export function Heading({ text, of: loaded, children }: HeadingOptions) {
  useEffect(() => {
    document.title = `${text} · jobs`;
  }, [text]);
  return (
    <>
      <div class="heading">
        <h1 id="heading" tabIndex={-1}>{text}</h1>
        {children}
      </div>
      {loaded && (loaded.data ? <StaleNote error={loaded.error} /> : <Waiting error={loaded.error} />)}
    </>
  );
}

/** An instant, relative to now; its title has the exact one. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="quiet">-</span>;
  return <time dateTime={at} title={exactTime(at, zone.value)}>{relativeTime(at, now.value)}</time>;
}

const INSTANT = /((?:\bat )?\d{4}-\d\d-\d\dT[\d:.]+Z(?:, in [^,.;]*)?)/;

/** A sentence of the server; an instant in it is shown as one that moves on. */
export function Sentence({ text }: { text: string }) {
  return (
    <>
      {text.split(INSTANT).map((part, index) => {
        const at = index % 2 === 1 ? part.match(/\d{4}-[^,]*/)?.[0] : undefined;
        if (!at) return part;
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

const SIGNS: Readonly<Record<string, string>> = {
  active: "▶",
  available: "●",
  cancelled: "⊘",
  completed: "✓",
  "dead-letter": "✕",
  discarded: "✕",
  draining: "↓",
  error: "✕",
  expired: "✕",
  failed: "✕",
  paused: "‖",
  pending: "○",
  quiet: "‖",
  retryable: "↻",
  revoked: "✕",
  running: "▶",
  scheduled: "◷",
  slow: "!",
  stale: "✕",
  skipped: "⊘",
  terminate: "■",
  valid: "✓",
  waiting: "○",
  warning: "!",
};

/** Return the sign of a state, so that its colour never speaks alone. */
export function signOf(state: string): string {
  return SIGNS[state] ?? "•";
}

/** A state: a sign and its name, in a colour. */
export function State({ name }: { name: string }) {
  return <span class={`state state-${name}`}><span aria-hidden="true">{signOf(name)}</span> {name.replaceAll("-", " ")}</span>;
}

export function JobLink({ id }: { id: string }) {
  return <a class="id" href={link(["jobs", id])}>{id}</a>;
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
  return error ? <ErrorNote error={error} /> : <p class="quiet" role="status">Loading …</p>;
}

/** Names with their values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

/** Copy a text; over plain HTTP browsers have no clipboard for scripts, so a selection is copied there. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed here: copy a selection instead.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  const place = document.querySelector("dialog[open]") ?? document.body;
  place.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [answer, setAnswer] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAnswer(""), 2500);
    return () => clearTimeout(timer);
  }, [answer]);
  const copy = async (): Promise<void> => {
    setAnswer((await copyText(text)) ? "Copied" : "Select and copy it by hand");
  };
  return <button type="button" class="small" onClick={() => void copy()}><span aria-live="polite">{answer || label}</span></button>;
}

/** A command line or another text to copy. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label}>{text}</pre>
      <CopyButton text={text} />
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
  return `${sureness}${total.toLocaleString("en")} match. `;
}

/** Return a number of things: `1 job`, `2 jobs`. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}
