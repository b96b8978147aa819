// Makes ids of jobs: UUIDv7, the time and 74 random bits.

import { serverNow } from "./times";

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
