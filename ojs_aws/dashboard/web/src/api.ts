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

/** Read after all reads that were asked for before: of view, menu and drawings, one at a time asks the server. */
function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const mine = lastRead.then(ask);
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

/** Call an operation at an address. Reads wait for their turn, changes do not. */
export async function callAt<T>(method: string, url: URL, body?: unknown): Promise<Answer<T>> {
  const ask = (): Promise<Answer<T>> => answerOf<T>(method, url, body);
  return method === "GET" ? inTurn(ask) : ask();
}

async function answerOf<T>(method: string, url: URL, body: unknown): Promise<Answer<T>> {
  let response = await send(method, url, body);
  // It was refused before anything was done; its credential may have been withdrawn before its time.
  if (response.status === 401 && (await renewCredential())) response = await send(method, url, body);
  noteServerTime(response.headers.get("Date"));
  const text = await response.text();
  if (!response.ok) throw refused(response, text);
  return { value: (text ? JSON.parse(text) : null) as T, text, status: response.status };
}

async function send(method: string, url: URL, body: unknown): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const credential = await currentCredential();
  if (credential) headers["Authorization"] = `Bearer ${credential}`;
  else if (ISSUER) throw new ApiError(signInReason.value, 401, "", "", 0);
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
  if (method === "GET") init.signal = AbortSignal.timeout(READ_MS);
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = body instanceof JsonText ? body.text : JSON.stringify(body);
  }
  try {
    return await fetch(url, init);
  } catch {
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
