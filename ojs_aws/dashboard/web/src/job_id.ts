// Makes ids of jobs: UUIDv7, the time and 74 random bits.

import { serverNow } from "./times";

const COPY_STEP = 0x1f3a_9c5b_72d4_e681n;
const RANDOM_BITS = (1n << 62n) - 1n;

/** Return the id of a job's copy: always the same one, so that a job copied twice has one copy; and a copy's copy another one. */
export function copyIdOf(id: string): string {
  const value = BigInt(`0x${id.replaceAll("-", "")}`);
  const low = ((value & RANDOM_BITS) + COPY_STEP) & RANDOM_BITS;
  const text = ((value & ~RANDOM_BITS) | low).toString(16).padStart(32, "0");
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Return a new id. */
export function newJobId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let ms = Math.floor(serverNow());
  for (let index = 5; index >= 0; index -= 1) {
    bytes[index] = ms % 256;
    ms = Math.floor(ms / 256);
  }
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const text = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
