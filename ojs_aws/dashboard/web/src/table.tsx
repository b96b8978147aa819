// The table that all lists are shown in.

import type { ComponentChildren } from "preact";
import { useReducer, useRef } from "preact/hooks";
import { useSteadyRows } from "./steady";

export interface Column<T> {
  readonly name: string;
  readonly show: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
}

interface TableOptions<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly nameOf: (row: T) => string;
  /** What is said when there are no rows. */
  readonly none: string;
}

/** A table that scrolls by itself where it is wider than the screen. */
export function Table<T>({ label, columns, rows, nameOf, none }: TableOptions<T>) {
  const region = useRef<HTMLDivElement>(null);
  const [, release] = useReducer((count: number) => count + 1, 0);
  const shown = useSteadyRows(region.current, rows, nameOf);
  if (shown.length === 0) return <p class="quiet">{none}</p>;
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0} ref={region}>
      <table>
        <thead>
          <tr>{columns.map((each) => <th key={each.name} scope="col" class={each.isNumber ? "number" : ""}>{each.name}</th>)}</tr>
        </thead>
        <tbody onMouseLeave={() => release(null)} onFocusOut={() => release(null)}>
          {shown.map(({ row, isGone }) => (
            <tr key={nameOf(row)} class={isGone ? "gone" : ""} title={isGone ? "No longer in this list" : undefined}>
              {columns.map((each) => <td key={each.name} data-name={each.name} class={each.isNumber ? "number" : ""}>{each.show(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
