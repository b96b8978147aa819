// Shows instants: relative by the server's clock, exact in UTC or local time.

import { signal } from "@preact/signals";
import type { Spread } from "./shapes";

export type Zone = "local" | "utc";

const STORED = "ojs-zone";

export const zone = signal<Zone>(localStorage.getItem(STORED) === "utc" ? "utc" : "local");

export function keepZone(chosen: Zone): void {
  zone.value = chosen;
  localStorage.setItem(STORED, chosen);
}

let aheadMs = 0;

/** The time at the server, in milliseconds; moves on while somebody looks. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = serverNow();
}, 1000);

export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** Follow the server's clock. Its header has whole seconds, so smaller differences mean nothing. */
export function noteServerTime(header: string | null): void {
  const server = Date.parse(header ?? "");
  if (!Number.isFinite(server)) return;
  const difference = server + 500 - Date.now();
  if (Math.abs(difference - aheadMs) > 1500) aheadMs = Math.abs(difference) > 1500 ? difference : 0;
}

/** Return an instant exactly, in the chosen zone. */
export function exactTime(instant: string, chosen: Zone): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return instant;
  if (chosen === "utc") return `${date.toISOString().replace("T", " ").replace("Z", "")} UTC`;
  const two = (value: number, width = 2): string => String(value).padStart(width, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`;
  const offset = -date.getTimezoneOffset();
  const sign = offset < 0 ? "-" : "+";
  return `${day} ${time} ${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
}

/** Return the time of day of an instant in milliseconds, in the chosen zone: `15:06`. */
export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString("sv-SE", { hour: "2-digit", minute: "2-digit", ...(zone.value === "utc" && { timeZone: "UTC" }) });
}

/** Return how far an instant is from another: `5 min ago`, `in 3 h`. */
export function relativeTime(instant: string, atMs: number): string {
  const distance = Date.parse(instant) - atMs;
  if (Number.isNaN(distance)) return instant;
  if (Math.abs(distance) < 1500) return "now";
  return distance < 0 ? `${rough(-distance)} ago` : `in ${duration(Math.round(distance / 1000) * 1000)}`;
}

const LONG: readonly (readonly [string, number])[] = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];

/** Return a length of time in two units at most: `410 ms`, `5.6 s`, `1 min 32 s`, `6 d 14 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1).replace(".0", "")} s`;
  const first = LONG.findIndex(([, size]) => Math.round(ms / 1000) >= size);
  const [unit, size] = LONG[first] ?? ["s", 1];
  const [finer, small] = LONG[first + 1] ?? [unit, size];
  const whole = Math.round(ms / 1000 / small) * small;
  const rest = Math.round((whole % size) / small);
  return `${Math.floor(whole / size)} ${unit}${size > small && rest > 0 ? ` ${rest} ${finer}` : ""}`;
}

const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/;

/** Return seconds in words if these say them exactly, otherwise the text that was given. */
function exactly(s: number, given: string): string {
  const words = duration(s * 1000);
  const parts = [...words.matchAll(/([\d.]+) (\w+)/g)];
  const saidMs = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS_MS[unit ?? ""] ?? NaN), 0);
  return saidMs === s * 1000 ? words : given;
}

/** Return a duration of ISO 8601 in words, `PT1H` as `1 h`; other texts, and what words would round, stay as they are. */
export function spelled(text: string): string {
  const s = (text.match(ISO) ?? []).slice(1).reduce((sum, part, index) => sum + Number(part ?? 0) * (LONG[index]?.[1] ?? 0), 0);
  return s > 0 ? exactly(s, text) : text;
}

const IN_SECONDS = /(^|_)timeout$|_s$/;

/** Return a setting without the signs of JSON; a time that has seconds or ISO 8601 is in words. */
export function settingText(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.join(", ") || "–";
  if (typeof value === "object") return Object.entries(value).map(([each, of]) => `${each}: ${settingText(IN_SECONDS.test(name) ? name : each, of)}`).join(", ") || "–";
  if (typeof value !== "number") return spelled(String(value));
  return value > 0 && IN_SECONDS.test(name) ? exactly(value, `${value} s`) : value.toLocaleString("en", { maximumFractionDigits: 20 });
}

/** Return an age or a distance in one unit: ages change slowly on the screen. */
export function rough(ms: number): string {
  const s = Math.round(ms / 1000);
  if (s < 1) return "0 s";
  const [unit, size] = LONG.find(([, each]) => s >= each) ?? ["s", 1];
  return `${Math.floor(s / size)} ${unit}`;
}

/** Compare two instants, the earlier first; a missing one comes last. */
export function earlierFirst(one: string | null | undefined, other: string | null | undefined): number {
  const at = (instant: string | null | undefined): number => Date.parse(instant ?? "") || 9e15;
  return at(one) - at(other);
}

/** Return a length of time that may not have been measured. */
export function measured(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "–" : duration(ms);
}

/** Return percentiles of times as `40 ms, 1.2 s, 3.0 s`. */
export function spreadText(times: Spread): string {
  return [times.p50, times.p95, times.p99].every((ms) => ms === null) ? "–" : [times.p50, times.p95, times.p99].map(measured).join(", ");
}

const AGE = /^(\d+(?:\.\d+)?)\s*(s|m|min|h|d)(?: ago)?$/;
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Return the instant of an age like `2h`, `30 min ago` or `1d`; other texts stay as they are. */
export function instantOf(text: string): string {
  const age = text.trim().match(AGE);
  const ms = Number(age?.[1]) * (UNITS_MS[age?.[2] ?? ""] ?? NaN);
  return Number.isFinite(ms) ? new Date(Math.floor((serverNow() - ms) / 1000) * 1000).toISOString() : text;
}

/** Return the length of time between two instants, or an empty text when one is missing. */
export function between(from: string | undefined, to: string | undefined): string {
  const ms = Date.parse(to ?? "") - Date.parse(from ?? "");
  return Number.isFinite(ms) ? duration(Math.max(0, ms)) : "";
}
