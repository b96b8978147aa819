// The attempts of a job as bars over time: the backoff dotted, the wait pale, the run solid, and in words how it ended.

import { type Attempt, hasDied } from "../attempts";
import { clock, duration, now } from "../times";

const MOST = 12;
const LINES = 4;
/** The share of the width that is left for the words behind the last bar. */
const LABEL = 0.2;
/** The least width of a run, in percent: it is seen, however short it was. */
const LEAST = 0.3;

/** Draw the last attempts; the list below says the same in words. */
export function AttemptBars({ attempts: all }: { attempts: readonly Attempt[] }) {
  const attempts = all.slice(-MOST);
  const [first] = attempts;
  if (!first) return null;
  const from = first.ready;
  const last = Math.max(...attempts.map((each) => each.end ?? Math.max(each.ready, now.value)), from + 1000);
  const until = from + (last - from) / (1 - LABEL);
  const x = (at: number): number => Math.round(Math.min(100, Math.max(0, ((at - from) / (until - from)) * 100)) * 100) / 100;
  const present = now.value < until ? x(now.value) : undefined;
  return (
    <div class="attempts" aria-hidden="true">
      <span />
      <svg class="ticks">{present !== undefined && <text x={`${present}%`} y="12" text-anchor="middle">now</text>}</svg>
      {attempts.map((each, index) => <Row key={each.number} attempt={each} before={attempts[index - 1]} x={x} present={present} />)}
      <span />
      <svg class="ticks">
        {[...Array(LINES + 1).keys()].map((part) => (
          <text key={part} x={`${(part * 100) / LINES}%`} y="12" text-anchor={part === 0 ? "start" : part === LINES ? "end" : "middle"}>{tick(from + ((until - from) * part) / LINES, until - from)}</text>
        ))}
      </svg>
    </div>
  );
}

function tick(at: number, span: number): string {
  return span < 300_000 ? `${clock(at)}:${String(new Date(at).getUTCSeconds()).padStart(2, "0")}` : clock(at);
}

interface RowOptions {
  readonly attempt: Attempt;
  readonly before: Attempt | undefined;
  readonly x: (at: number) => number;
  /** Where now is; undefined beyond the drawing. */
  readonly present: number | undefined;
}

function Row({ attempt: { number, ready, start, end, state, error }, before, x, present }: RowOptions) {
  const stop = end ?? now.value;
  const begin = start ?? stop;
  const width = (one: number, other: number, least = 0): string => `${Math.max(least, x(other) - x(one))}%`;
  return (
    <>
      <span>Attempt {number}</span>
      <svg class={`st-${state}`}>
        {before?.end !== undefined && <line class="backoff" x1={`${x(before.end)}%`} x2={`${x(ready)}%`} y1="12" y2="12" />}
        {start !== undefined && <rect class="waits" x={`${x(ready)}%`} width={width(ready, start)} y="5" height="14" />}
        {state === "retryable"
          ? <rect x={`${x(ready)}%`} y="5" width="3" height="14" rx="1" transform="translate(-3)" />
          : <rect class="runs" x={`${x(begin)}%`} width={width(begin, stop, LEAST)} y="5" height="14" rx="2" />}
        {present !== undefined && <line x1={`${present}%`} x2={`${present}%`} y1="0" y2="24" />}
        <text x={`${x(state === "retryable" ? ready : stop)}%`} dx="8" y="16">{wordsOf(state, start, stop, ready, hasDied(error))}</text>
      </svg>
    </>
  );
}

/** Say how an attempt ended. */
function wordsOf(state: Attempt["state"], start: number | undefined, stop: number, ready: number, isDeath: boolean): string {
  if (state === "retryable") return `due ${clock(ready)}`;
  const ran = start === undefined ? "" : duration(Math.max(0, stop - start));
  if (state === "active") return `has run for ${ran}`;
  const after = ran && ` after ${ran}`;
  if (isDeath) return `worker died${after}`;
  return `${state === "discarded" ? "failed" : state}${after}`;
}
