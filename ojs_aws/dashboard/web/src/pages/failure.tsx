// Shows an error that a worker reported.

import type { Failure } from "../shapes";

/** An error with its backtrace, a frame on each line. */
export function FailureText({ failure }: { failure: Failure }) {
  const frames = failure.backtrace;
  const text = typeof frames === "string" ? frames : frames?.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame))).join("\n");
  return (
    <div class="note bad">
      <p><strong>{failure.type ?? failure.code ?? "Error"}</strong> {failure.message}</p>
      {text && <pre tabIndex={0} aria-label="Backtrace">{text}</pre>}
    </div>
  );
}
