// Shows an error that a worker reported.

import { shown } from "../bidi";
import { CopyIcon, JOINED } from "../parts";
import type { Failure } from "../shapes";

/** An error with its backtrace, a frame on each line. */
export function FailureText({ failure, isMain = false }: { failure: Failure; isMain?: boolean }) {
  const frames = failure.backtrace;
  const text = typeof frames === "string" ? frames : frames?.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame))).join("\n");
  const name = failure.type ?? failure.code ?? "Error";
  const Title = isMain ? "h2" : "strong";
  return (
    <div class="card failure note-of-error">
      <div class="card-head"><Title>{isMain && <span class="left-out">Latest error:{JOINED}</span>}{shown(name)}</Title><div class="tools"><CopyIcon text={[`${name}: ${failure.message ?? ""}`, text].filter(Boolean).join("\n")} label="Copy the error" /></div></div>
      {failure.message && <p class="message">{shown(failure.message)}</p>}
      {text && <pre tabIndex={0} aria-label="Backtrace">{shown(text)}</pre>}
    </div>
  );
}
