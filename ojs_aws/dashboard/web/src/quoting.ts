// Writes texts for other programs: a POSIX shell, Python.

import { PAGE } from "./address";

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;
const DEFAULT_URL = "http://127.0.0.1:8080";

/** Return a text as one word of a shell command. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Return a Python string that means the text. */
export function pythonText(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `'${escaped}'`;
}

const NAMED = document.querySelector<HTMLMetaElement>("meta[name=ojs-server]")?.content;

/** True if somebody else adds the credential: `ojs-aws dashboard` passes requests to the server that it names. */
export const IS_FORWARDED = Boolean(NAMED);

/** The server's address without a slash at its end. */
export const SERVER = (NAMED || PAGE.href).replace(/\/$/, "");

/** Return an `ojs-aws` command line; the credential is left to the environment. */
export function ojsAws(...words: readonly string[]): string {
  const server = SERVER === DEFAULT_URL ? [] : ["--url", SERVER];
  const end = words.indexOf("--"); // what follows is no option, whatever it looks like
  const options = end < 0 ? words : words.slice(0, end);
  return ["ojs-aws", ...options, ...server, ...words.slice(options.length)].map(shellWord).join(" ");
}
