// Keeps what somebody points at where it is: a live change never moves the row under the pointer.

import { useRef } from "preact/hooks";

let asked = 0;

/** Note that an answer is about to be shown that somebody asked for: it is shown at once, wherever the pointer is. */
export function noteAsked(): void {
  asked += 1;
}

/** Return true while somebody points at a row of a table, or has moved into one by keyboard. */
function isPointing(within: ParentNode): boolean {
  return within.querySelector("tbody:hover, tbody :focus-visible") !== null;
}

/** Return a value, but the one of before while somebody points at a row: for what stands above tables. */
export function useSteady<T>(value: T): T {
  const kept = useRef({ value, asked });
  if (asked !== kept.current.asked || !isPointing(document)) kept.current = { value, asked };
  return kept.current.value;
}

export interface SteadyRow<T> {
  readonly row: T;
  /** True if it is shown only because somebody points at the table. */
  readonly isGone: boolean;
}

/** Return the rows of a table. While somebody points at one, each stays in its place: new ones wait, old ones are marked. */
export function useSteadyRows<T>(table: Element | null, rows: readonly T[], nameOf: (row: T) => string): readonly SteadyRow<T>[] {
  const kept = useRef({ rows, asked });
  if (asked !== kept.current.asked || !table || !isPointing(table)) {
    kept.current = { rows, asked };
    return rows.map((row) => ({ row, isGone: false }));
  }
  const present = new Map(rows.map((row) => [nameOf(row), row]));
  return kept.current.rows.map((row) => {
    const newer = present.get(nameOf(row));
    return newer === undefined ? { row, isGone: true } : { row: newer, isGone: false };
  });
}
