// Offers to go on with a change of many jobs that was stopped, or during which the page was loaded again.

import { ActionButton } from "../action";
import { changedSoFar, goOn, keepUnfinished, unfinished } from "./bulk_changes";

export function Interrupted() {
  const state = unfinished.value;
  if (!state) return null;
  const { queue } = state.filter;
  return (
    <div class="note">
      <p>A change of many jobs ({state.change}{queue && `, queue ${queue}`}) was not finished; {changedSoFar(state)} were changed.</p>
      <div class="buttons">
        <ActionButton action={() => goOn(state)} label="Go on …" />
        <button type="button" class="small" onClick={() => keepUnfinished(null)}>Leave it as it is</button>
      </div>
    </div>
  );
}
