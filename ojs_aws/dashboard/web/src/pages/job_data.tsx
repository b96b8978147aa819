// Shows what a job carries: each value is text of the answer itself, shown and copied as it was sent.

import { useState } from "preact/hooks";
import { type Source, at, indented } from "../json_source";
import { CopyButton } from "../parts";

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

/** A value of a client, as it was sent. */
export function Value({ title, text, isFolded = false }: { title: string; text: string; isFolded?: boolean }) {
  const [isIndented, setIndented] = useState(text.length > SHORT);
  const content = (
    <>
      <div class="buttons">
        <button type="button" class="small" aria-pressed={isIndented} onClick={() => setIndented(!isIndented)}>Indent</button>
        <CopyButton text={text} label="Copy as sent" />
      </div>
      <pre tabIndex={0} aria-label={title}>{isIndented ? indented(text) : text}</pre>
    </>
  );
  if (isFolded) return <details><summary><h2>{title}</h2></summary>{content}</details>;
  return <section><h2>{title}</h2>{content}</section>;
}
