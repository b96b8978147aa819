// The filter of the list of jobs: states as tabs, everything else as chips. The filter is the page's address.

import { useState } from "preact/hooks";
import { link, open } from "../address";
import { Chips, FilterForm } from "../chips";
import { Icon, LOOKS } from "../icons";
import { shortCount } from "../parts";
import { STATES } from "../shapes";
import { instantOf } from "../times";
import { menu } from "../totals";
import type { JobFilter } from "./bulk_changes";

export const FILTER = ["queue", "state", "type", "since", "until", "tag", "error"] as const;

const FIELDS = [
  ["queue", "Queue", "any"], ["type", "Type", "mail.send or mail.*"], ["since", "Created since", "2h or 2026-01-31T12:00:00Z"],
  ["until", "Created until", "30m or 2026-01-31T13:00:00Z"], ["tag", "Tag", "any"], ["error", "Error contains", "SmtpError: mailbox"],
] as const;

/** A tab for each state; counts are those of all jobs, so they stand there only while nothing is filtered. */
export function StateTabs({ filter }: { filter: JobFilter }) {
  const { state: present = "", ...rest } = filter;
  const { counts, jobs } = menu.value;
  const isAll = Object.keys(rest).length === 0;
  const tab = (state: string, name: string, count: number | undefined) => (
    <li key={state}>
      <a href={link(["jobs"], { ...rest, state })} aria-current={present === state ? "true" : undefined} class={state && `st-${LOOKS[state]?.[1]}`}>
        {state && <Icon name={LOOKS[state]?.[0] ?? "note"} />}<span class="word">{name}</span>
        {isAll && count !== undefined && <span class="quiet">{shortCount(count)}</span>}
      </a>
    </li>
  );
  return (
    <nav aria-label="States">
      <ul class="state-tabs">{tab("", "all", counts["jobs"])}{STATES.map((state) => tab(state, state, jobs[state]))}</ul>
    </nav>
  );
}

/** The rest of the filter as chips, and the button that adds to it. */
export function JobChips({ filter }: { filter: JobFilter }) {
  const hasOneState = STATES.some((state) => state === filter.state);
  const set = [...FIELDS, ["state", "State"] as const].flatMap(([name, label]) => {
    const value = filter[name];
    return value && (name !== "state" || !hasOneState) ? [[label, value, link(["jobs"], { ...filter, [name]: undefined })] as const] : [];
  });
  return (
    <>
      <Chips set={set} form={(close) => <Form filter={filter} close={close} />} />
      {set.length > 1 && <a href={link(["jobs"], { state: hasOneState ? filter.state : undefined })}>Clear</a>}
    </>
  );
}

function Form({ filter, close }: { filter: JobFilter; close: () => void }) {
  const [draft, setDraft] = useState(filter);
  const states = (draft.state ?? "").split(",").filter(Boolean);
  const toggle = (state: string, isOn: boolean): void =>
    setDraft({ ...draft, state: STATES.filter((each) => (each === state ? isOn : states.includes(each))).join(",") });
  const submit = (): void => {
    close();
    open(["jobs"], { ...draft, since: instantOf(draft.since ?? ""), until: instantOf(draft.until ?? "") });
  };
  return (
    <FilterForm fields={FIELDS} draft={draft} change={setDraft} submit={submit}>
      <fieldset>
        <legend>State</legend>
        {STATES.map((state) => (
          <label key={state}>
            <input type="checkbox" checked={states.includes(state)} onChange={(event) => toggle(state, event.currentTarget.checked)} /> {state}
          </label>
        ))}
      </fieldset>
    </FilterForm>
  );
}
