// The filter of a list as chips, with a button that opens the rest of it.

import type { ComponentChildren } from "preact";
import { Icon } from "./icons";
import { Popover } from "./menu";

interface ChipsOptions {
  /** What is set: name, value, and the address without it. */
  readonly set: readonly (readonly [string, string, string])[];
  readonly label?: string;
  /** The form that opens. */
  readonly form: (close: () => void) => ComponentChildren;
}

export function Chips({ set, label = "Filter", form }: ChipsOptions) {
  return (
    <>
      {set.map(([name, value, without]) => (
        <span key={name} class="chip">
          <span>{name} <strong>{value}</strong></span>
          <a href={without} aria-label={`Remove ${name}`}><Icon name="close" isSmall /></a>
        </span>
      ))}
      <Popover label={label} face={<><Icon name="plus" isSmall />{label}</>} kind="add">{form}</Popover>
    </>
  );
}

interface FormOptions<T> {
  readonly fields: readonly (readonly [keyof T & string, string, string])[];
  readonly draft: T;
  readonly change: (draft: T) => void;
  readonly submit: () => void;
  readonly children?: ComponentChildren;
}

/** The form of a filter: a text for each field. */
export function FilterForm<T extends Readonly<Partial<Record<string, string>>>>({ fields, draft, change, submit, children }: FormOptions<T>) {
  return (
    <form class="filter" aria-label="Filter" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      {fields.map(([name, label, hint]) => (
        <label key={name}>
          {label}
          <input value={draft[name] ?? ""} placeholder={hint} spellcheck={false} onInput={(event) => change({ ...draft, [name]: event.currentTarget.value.trim() })} />
        </label>
      ))}
      {children}
      <button type="submit" class="main">Show</button>
    </form>
  );
}
