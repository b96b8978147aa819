// Says why a job does not run now, as the backend found it.

import { link } from "../address";
import { call } from "../api";
import { CopyButton, Time } from "../parts";
import { ojsAws } from "../quoting";

interface Reason {
  readonly code: string;
  readonly message: string;
  readonly until?: string;
  readonly data?: { readonly held_by?: readonly string[] };
}

export interface Why {
  readonly reasons: readonly Reason[];
  readonly checked: readonly string[];
}

/** Ask the backend; a job of an older server has no answer. */
export async function readWhy(id: string): Promise<Why> {
  return (await call<Why>("GET", `admin/jobs/${encodeURIComponent(id)}/why`)).value;
}

export function JobWhy({ id, why }: { id: string; why: Why }) {
  return (
    <>
      <h2>Why it does not run</h2>
      <ul class="reasons">
        {why.reasons.map((reason) => (
          <li key={reason.code}>
            {reason.message} <span class="quiet">({reason.code}{reason.until && <>, <Time at={reason.until} /></>})</span>
            {(reason.data?.held_by ?? []).map((holder) => <> <a class="id" href={link(["jobs", holder])}>{holder}</a></>)}
          </li>
        ))}
      </ul>
      <p class="quiet">Checked: {why.checked.join(", ")}. <code>{ojsAws("why", id)}</code> <CopyButton text={ojsAws("why", id)} /></p>
    </>
  );
}
