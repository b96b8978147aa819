// Shows what a job carries: each value is text of the answer itself, shown and copied as it was sent.

import { useState } from "preact/hooks";
import { shown } from "../bidi";
import { type Source, at, indented } from "../json_source";
import { CopyIcon } from "../parts";

/** The arguments, as they were sent. */
export function JobArguments({ source }: { source: Source }) {
  return <Value title="Arguments" text={at(source, "args")?.text ?? "[]"} />;
}

const SHOWN = [
  ["meta", "Metadata"],
  ["result", "Result"],
  ["checkpoint", "Checkpoint"],
  ["retry", "Retry policy"],
  ["unique", "Unique policy"],
  ["rate_limit", "Rate limit"],
  ["tags", "Tags"],
] as const;

export function JobData({ source, progress }: { source: Source; progress: string }) {
  return (
    <>
      {SHOWN.map(([name, title]) => {
        const value = at(source, name);
        return value && value.text !== "{}" && <Value key={name} title={title} text={value.text} />;
      })}
      {progress !== "null" && <Value title="Progress data" text={progress} />}
      <Value title="The whole job" text={source.text} isFolded />
    </>
  );
}

const SHORT = 70;

/** A value of a client: shown as it was sent or with line breaks, and copied as it was sent. */
export function Value({ title, text, isFolded = false }: { title: string; text: string; isFolded?: boolean }) {
  const isReordered = text !== shown(text);
  const [isIndented, setIndented] = useState(text.length > SHORT || isReordered);
  const tools = (
    <>
      <div class="segments" role="group" aria-label="How it is shown">
        <button type="button" class="small" aria-pressed={isIndented} onClick={() => setIndented(true)}>Indented</button>
        <button type="button" class="small" aria-pressed={!isIndented} onClick={() => setIndented(false)}>As sent</button>
      </div>
      <CopyIcon text={text} label="Copy as sent" />
    </>
  );
  const content = (
    <>
      <pre tabIndex={0} aria-label={title}>{isIndented ? shown(indented(text)) : text}</pre>
      {isReordered && <p class="quiet warns">It contains controls of the writing direction. <em>Indented</em> shows them as escapes; <em>As sent</em> and what is copied have them as they are.</p>}
    </>
  );
  if (isFolded) return <details class="card value fold"><summary><h2>{title}</h2> <span class="quiet">as it was sent, {text.length.toLocaleString("en")} characters</span></summary><div class="buttons">{tools}</div>{content}</details>;
  return <section class="card value"><div class="card-head"><h2>{title}</h2><div class="tools">{tools}</div></div>{content}</section>;
}
