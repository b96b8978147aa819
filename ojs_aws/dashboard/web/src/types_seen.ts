// Remembers the types of jobs that this tab has shown, for the search: no request asks for them.

const seen = new Set<string>();
const MOST = 200;

/** Remember types of jobs. */
export function noteTypes(types: readonly string[]): void {
  for (const type of types) if (seen.size < MOST) seen.add(type);
}

/** Return the types that were seen, by name. */
export function knownTypes(): readonly string[] {
  return [...seen].sort();
}
