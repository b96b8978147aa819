// Calls the public API: one function, with the credential of this tab, and errors as one class.

import { PAGE } from "./address";
import { currentCredential, ISSUER, renewCredential, signInReason } from "./session";
import { noteServerTime } from "./times";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestId: string,
    /** Seconds that the server asks to wait. */
    readonly retryAfterS: number,
    /** What the server answered. */
    readonly answer: unknown = null,
  ) {
    super(message);
  }
}

/** Says that a read has no answer because the view that asked for it was left. */
export class ViewLeft extends Error {}

export interface Answer<T> {
  readonly value: T;
  /** The answer as it was sent: what clients wrote is shown from here, never from `value`. */
  readonly text: string;
  readonly status: number;
}

/** A body that is sent exactly as it stands. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** The address of the API. */
export const API = new URL("ojs/v1/", PAGE);

/** What a read may take; the server itself gives up before. Without a bound, one lost answer would hold up all others. */
const READ_MS = 60_000;

let lastRead: Promise<unknown> = Promise.resolve();
let ofView = new AbortController();

/** End the reads of the view that is left, those that wait included: the next view waits for none of them. */
export function abandonReads(): void {
  ofView.abort(new ViewLeft("The view was left."));
  ofView = new AbortController();
  lastRead = Promise.resolve();
}

/** Read after all reads that were asked for before: of view, menu and drawings, one at a time asks the server. */
function inTurn<T>(ask: (isLeft: AbortSignal) => Promise<T>): Promise<T> {
  const { signal } = ofView;
  const mine = lastRead.then(() => {
    signal.throwIfAborted();
    return ask(signal);
  });
  lastRead = mine.catch(() => undefined);
  return mine;
}

/** Call an operation below `/ojs/v1/` and return what it answers. */
export async function call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  return callAt<T>(method, new URL(path, API), body);
}

/** Read an address below `/ojs/v1/`. */
export async function read<T>(path: string): Promise<T> {
  return (await call<T>("GET", path)).value;
}

/** Read an address; null where the credential may not. */
export async function readIfAllowed<T>(path: string): Promise<T | null> {
  try {
    return await read<T>(path);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403 && error.code) return null;
    throw error;
  }
}

/** Read an address; null where no answer came. A read that ended because the view was left fails nevertheless. */
export async function readIfAnswered<T>(path: string): Promise<T | null> {
  try {
    return await read<T>(path);
  } catch (error) {
    if (error instanceof ViewLeft) throw error;
    return null;
  }
}

/** Return the text of what a change is about: it waits for no view, and leaving one does not end it. */
export async function readForChange(path: string): Promise<string> {
  return (await answerOf("GET", new URL(path, API))).text;
}

/** Call an operation at an address. Reads wait for their turn and end when their view is left, changes do not. */
export async function callAt<T>(method: string, url: URL, body?: unknown): Promise<Answer<T>> {
  return method === "GET" ? inTurn((isLeft) => answerOf<T>(method, url, undefined, isLeft)) : answerOf<T>(method, url, body);
}

async function answerOf<T>(method: string, url: URL, body?: unknown, isLeft?: AbortSignal): Promise<Answer<T>> {
  let response = await send(method, url, body, isLeft);
  // It was refused before anything was done; its credential may have been withdrawn before its time.
  if (response.status === 401 && (await renewCredential())) response = await send(method, url, body, isLeft);
  noteServerTime(response.headers.get("Date"));
  const text = await response.text();
  if (!response.ok) throw refused(response, text);
  return { value: valueOf<T>(text, response.status), text, status: response.status };
}

function valueOf<T>(text: string, status: number): T {
  try {
    return (text ? JSON.parse(text) : null) as T;
  } catch {
    throw new ApiError("What answered is not the server of jobs, but perhaps a proxy that asks you to sign in. Load the page again.", status, "no_json", "", 0);
  }
}

async function send(method: string, url: URL, body: unknown, isLeft?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const credential = await currentCredential();
  if (credential) headers["Authorization"] = `Bearer ${credential}`;
  else if (ISSUER) throw new ApiError(signInReason.value, 401, "", "", 0);
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
  if (method === "GET") init.signal = AbortSignal.any([AbortSignal.timeout(READ_MS), ...(isLeft ? [isLeft] : [])]);
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = body instanceof JsonText ? body.text : JSON.stringify(body);
  }
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof ViewLeft) throw error;
    throw new ApiError("The server cannot be reached.", 0, "unreachable", "", 0);
  }
}

function refused(response: Response, text: string): ApiError {
  type Report = { message?: string; code?: string; request_id?: string };
  let answer: (Report & { error?: Report }) | null = null;
  try {
    answer = JSON.parse(text) as Report & { error?: Report };
  } catch {
    // A gateway answers in a form of its own.
  }
  const report = answer?.error ?? answer ?? {};
  const message = report.message ?? `The server answers ${response.status}.`;
  // The gateway's own refusals have no code: one of unsigned requests is a 403.
  if (response.status === 401 || (response.status === 403 && !report.code)) signInReason.value ||= message;
  const wait = Number(response.headers.get("Retry-After"));
  const id = report.request_id ?? response.headers.get("X-Request-Id") ?? "";
  return new ApiError(message, response.status, report.code ?? "", id, Number.isFinite(wait) ? wait : 0, answer);
}
