// The table that all lists are shown in.

import type { ComponentChildren } from "preact";
import { useReducer, useRef } from "preact/hooks";
import { useSteadyRows } from "./steady";

export interface Column<T> {
  readonly name: string;
  readonly show: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Where it stands: the name is first and stays in sight, as actions do; facts become a line on a phone. */
  readonly kind?: "name" | "state" | "id" | "error" | "actions" | "check" | "fact" | "wide";
  /** The width of the window in pixels below which it is left out. */
  readonly from?: 1400 | 1200 | 900;
  /** What stands in its head instead of its name. */
  readonly head?: ComponentChildren;
}

interface TableOptions<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly nameOf: (row: T) => string;
  /** What is said when there are no rows. */
  readonly none: ComponentChildren;
  /** True for a row that somebody has chosen. */
  readonly isChosen?: (row: T) => boolean;
}

/** Letters of a text that may take more than one line. */
const LONG = 30;

function classOf<T>(column: Column<T>): string {
  return [column.isNumber && "number", column.kind && `c-${column.kind}`, column.from && `from-${column.from}`].filter(Boolean).join(" ");
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  const value = column.show(row);
  const isLong = typeof value === "string" && value.length > LONG;
  return <td data-name={column.name} class={value === "–" ? `${classOf(column)} none` : classOf(column)}>{isLong ? <span class="long">{value}</span> : value}</td>;
}

/** A table that scrolls by itself where it is wider than the screen. */
export function Table<T>({ label, columns, rows, nameOf, none, isChosen = () => false }: TableOptions<T>) {
  const region = useRef<HTMLDivElement>(null);
  const [, release] = useReducer((count: number) => count + 1, 0);
  const shown = useSteadyRows(region.current, rows, nameOf);
  if (shown.length === 0) return typeof none === "string" ? <p class="empty quiet">{none}</p> : <>{none}</>;
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0} ref={region}>
      <table>
        <thead>
          <tr>
            {columns.map((each) => (
              <th key={each.name} scope="col" class={classOf(each)}>{each.head ?? (each.kind === "actions" ? <span class="unseen">{each.name}</span> : each.name)}</th>
            ))}
          </tr>
        </thead>
        <tbody onMouseLeave={() => release(null)} onFocusOut={() => release(null)}>
          {shown.map(({ row, isGone }) => (
            <tr key={nameOf(row)} class={`${isGone ? "gone" : ""}${isChosen(row) ? " chosen-row" : ""}`} title={isGone ? "No longer in this list" : undefined}>
              {columns.map((each) => <Cell key={each.name} column={each} row={row} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
