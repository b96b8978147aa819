// Keeps a view up to date: one request at a time, slower when the server asks for it, never unseen.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, abandonReads } from "./api";
import { noteAsked } from "./steady";
import { serverNow } from "./times";
import { readMenu } from "./totals";

const IDLE_MS = 30 * 60_000;
const LONGEST_MS = 120_000;

export const isIdle = signal(false);
export const updatedAt = signal("");

/** Since when no update has come; empty while they do. */
export const failedSince = signal("");

let lastInput = Date.now();
let current: Loop | null = null;

for (const kind of ["pointerdown", "keydown", "wheel", "touchstart"]) {
  addEventListener(kind, noteInput, { passive: true });
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") current?.wake(false);
  else current?.sleep();
});

function noteInput(): void {
  lastInput = Date.now();
  if (!isIdle.value) return;
  isIdle.value = false;
  current?.wake(false);
}

/** Load the current view again at once. */
export function refresh(): void {
  current?.wake(true);
}

/** Return how long to wait after a failure: what the server asks for, or twice as long each time. */
export function backoffMs(error: unknown, failures: number, everyMs: number): number {
  const asked = error instanceof ApiError ? error.retryAfterS * 1000 : 0;
  return Math.max(asked, Math.min(LONGEST_MS, everyMs * 2 ** Math.min(failures, 6)));
}

class Loop {
  private timer = 0;
  private failures = 0;
  private isRunning = false;
  private isStopped = false;
  private isAskedAgain = false;

  constructor(
    private readonly load: (isAsked: boolean) => Promise<void>,
    private readonly everyMs: number,
    /** Runs after a load that nobody asked for, in the same turn. */
    private readonly after: () => Promise<void>,
  ) {}

  wake(isAsked: boolean): void {
    clearTimeout(this.timer);
    void this.step(isAsked);
  }

  sleep(): void {
    clearTimeout(this.timer);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private async step(isAsked: boolean): Promise<void> {
    if (this.isStopped) return;
    if (this.isRunning) {
      this.isAskedAgain ||= isAsked;
      return;
    }
    this.isRunning = true;
    let waitMs = this.everyMs;
    try {
      await this.load(isAsked);
      if (this.isStopped) return;
      this.failures = 0;
      updatedAt.value = new Date(serverNow()).toISOString();
      failedSince.value = "";
      if (!isAsked) await this.after();
    } catch (error) {
      // Of a view that was left: its failure says nothing about the one that is shown.
      if (this.isStopped) return;
      this.failures += 1;
      failedSince.value ||= new Date(serverNow()).toISOString();
      waitMs = backoffMs(error, this.failures, this.everyMs);
    }
    this.isRunning = false;
    const isAskedAgain = this.isAskedAgain;
    this.isAskedAgain = false;
    if (isAskedAgain) void this.step(true);
    else this.plan(waitMs);
  }

  private plan(waitMs: number): void {
    if (this.isStopped || document.visibilityState === "hidden") return;
    if (Date.now() - lastInput > IDLE_MS) {
      isIdle.value = true;
      return;
    }
    this.timer = window.setTimeout(() => void this.step(false), waitMs);
  }
}

export interface Loaded<T> {
  readonly data: T | null;
  readonly error: unknown;
  /** True while this is of the key before, until the new one is loaded. */
  readonly isOld?: boolean;
}

/** Load a view's data now and every few seconds; a failure leaves what was shown last.
 *
 * @param load gets what was shown last, and whether somebody asks: then nothing of it is kept to save requests.
 * @param key names what is shown: another key begins with nothing.
 * @param keeps another key shows what was there until it is loaded: for pages and filters of one list.
 */
export function useData<T>(load: (before: T | null, isAsked: boolean) => Promise<T>, everyS: number, key: string, keeps = false): Loaded<T> {
  const [shown, show] = useState<Loaded<T> & { key: string }>({ data: null, error: null, key });
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let data: T | null = null;
    let isGone = false;
    updatedAt.value = "";
    const loop = new Loop(async (isAsked) => {
      try {
        const found = await latest.current(data, isAsked);
        data = found;
        if (isAsked) noteAsked();
        if (!isGone) show({ data: found, error: null, key });
      } catch (error) {
        // Of another key, what was there goes now: it would stand for something that could not be loaded.
        if (!isGone) show({ data, error, key });
        throw error;
      }
    }, everyS * 1000, readMenu);
    current = loop;
    loop.wake(false);
    return () => {
      isGone = true;
      loop.stop();
      abandonReads();
      if (current === loop) current = null;
    };
  }, [key, everyS]);
  if (shown.key === key) return shown;
  return keeps && shown.data !== null ? { data: shown.data, error: null, isOld: true } : { data: null, error: null };
}
