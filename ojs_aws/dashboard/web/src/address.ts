// Reads and changes the page's address: what is after the `#` names the view and its filter.
//
// The server knows one page only. So the page works under any path, and its addresses never meet the API's.

import { signal } from "@preact/signals";

export interface Address {
  /** Parts of the path, decoded: `["jobs", "<id>"]`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

function parse(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const address = signal<Address>(parse(location.hash));

addEventListener("hashchange", () => {
  address.value = parse(location.hash);
});

/** Change the page's address without a new entry in the history. */
export function replaceAddress(hash: string): void {
  history.replaceState(null, "", PAGE.href + hash);
  address.value = parse(hash);
}

/** Return a query string without empty values; several values of a name are joined by commas. */
export function queryText(query: Query): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const text = typeof value === "object" ? value.join(",") : value;
    if (text) found.set(name, text);
  }
  const text = found.toString();
  return text && `?${text}`;
}

/** Return the address of a view, for links. */
export function link(parts: readonly string[], query: Query = {}): string {
  return `#/${parts.map(encodeURIComponent).join("/")}${queryText(query)}`;
}

/** Show another view. */
export function open(parts: readonly string[], query: Query = {}): void {
  location.hash = link(parts, query);
}

/** The page's folder, which ends in a slash: the API is below it, whatever the path prefix. */
export const PAGE = new URL(".", location.href.split("#")[0]);
