// Names the environment that the page shows, so that nobody takes one for another.

import { SERVER } from "./quoting";

export interface Environment {
  readonly name: string;
  /** The region or the host. */
  readonly place: string;
  /** The class of its colour: an environment that nobody knows has production's. */
  readonly kind: "prod" | "staging" | "dev" | "local";
}

const KINDS: readonly (readonly [Environment["kind"], RegExp])[] = [
  ["staging", /^(staging|stage|stg|test|qa|preview|preprod|uat)$/],
  ["dev", /^(dev|develop|development|sandbox)$/],
  ["local", /^(local|localhost)$/],
];

/** Return the environment of a server; its own name for it, if it gives one, comes first. */
export function environmentOf(server: string, named: string): Environment {
  const { host, hostname } = new URL(server);
  const region = hostname.match(/\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\./)?.[1] ?? "";
  const isLocal = /^(localhost|127\.|\[::1\]|.*\.localhost$)/.test(hostname);
  const words = named ? [named.toLowerCase()] : isLocal ? ["local"] : hostname.split(/[.-]/);
  const [kind, word] = KINDS.flatMap(([each, pattern]) => words.filter((text) => pattern.test(text)).map((text) => [each, text] as const))[0] ?? ["prod", ""];
  const name = named || word || (region ? "prod" : hostname);
  return { name, place: region || (host === name ? "" : host), kind };
}

export const ENVIRONMENT = environmentOf(SERVER, document.querySelector<HTMLMetaElement>("meta[name=ojs-environment]")?.content ?? "");
