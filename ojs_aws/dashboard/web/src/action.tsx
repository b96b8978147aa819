// Asks before something is changed: what happens, to how many, and the command line that does the same.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";
import { Code, ErrorNote, JobLink, atLeast } from "./parts";
import { refresh } from "./polling";

export interface Progress {
  /** Say how far the change has come. */
  readonly report: (text: string) => void;
  /** Return true when the change is to stop after the present step. */
  readonly isStopped: () => boolean;
}

export const THE_NUMBER = Symbol("the number of jobs");

/** What a change would change. */
export interface Count {
  readonly number: number;
  /** False if the number is a lower bound. */
  readonly isExact: boolean;
}

/** A job that could not be changed, and why. */
export interface Left {
  readonly job_id: string;
  readonly error: string;
}

/** What was done, and whether something of it could not be done. */
export interface Outcome {
  readonly text: string;
  readonly isPartial: boolean;
  readonly left?: readonly Left[];
}

export interface Action {
  readonly title: string;
  readonly explanation: string;
  /** The `ojs-aws` command line that does the same, with the value that is asked for. */
  readonly command: string | ((value: string) => string);
  /** The name of the button. */
  readonly verb: string;
  /** A text that has to be typed before anything is changed, or the number that the dry run found. */
  readonly typed?: string | typeof THE_NUMBER;
  /** A whole number that the change needs. */
  readonly asks?: { readonly label: string; readonly least: number; readonly most: number; readonly initial: number };
  /** A text that the change needs: how it begins, and what is wrong with it. */
  readonly edits?: { readonly label: string; readonly load: () => Promise<string>; readonly problem: (text: string) => string };
  /** Count what would be changed; the change is possible when the count is there. */
  readonly dryRun?: (progress: Progress) => Promise<Count>;
  /** Do it, and return what was done. */
  readonly run: (progress: Progress, value: string) => Promise<string | Outcome>;
}

const asked = signal<Action | null>(null);

/** What was done last, for the status line. */
export const done = signal<Outcome>({ text: "", isPartial: false });

/** Say what was done last; nothing for an empty text. */
export function noteDone(outcome: string | Outcome): void {
  done.value = typeof outcome === "string" ? { text: outcome, isPartial: false } : outcome;
}

/** Ask whether to do something. */
export function ask(action: Action): void {
  noteDone("");
  asked.value = action;
}

interface ActionButtonOptions {
  readonly action: () => Action;
  readonly label?: string;
  readonly isSmall?: boolean;
  readonly isDisabled?: boolean;
  readonly isMain?: boolean;
  readonly icon?: IconName;
}

export function ActionButton({ action, label, isSmall = true, isDisabled = false, isMain = false, icon }: ActionButtonOptions) {
  const shown = label ?? action().verb;
  const kind = [isSmall && "small", isMain && "main"].filter(Boolean).join(" ");
  return <button type="button" class={kind} disabled={isDisabled} onClick={() => ask(action())}>{icon && <Icon name={icon} />}{shown}</button>;
}

/** What was done last; it stays in sight, wherever somebody has scrolled. */
export function Done() {
  const { text, isPartial, left = [] } = done.value;
  return (
    <div class={`done ${isPartial ? "partial st-retryable" : "st-completed"}${text ? "" : " silent"}`}>
      {text && <Icon name={isPartial ? "warning" : "completed"} />}
      <div role="status">
        {text}
        {left.length > 0 && <ul>{left.map(({ job_id: id, error }) => <li key={id}><JobLink id={id} /> {error}</li>)}</ul>}
      </div>
      {text && <button type="button" class="icon-button" aria-label="Close" onClick={() => noteDone("")}><Icon name="close" /></button>}
    </div>
  );
}

/** The dialog; the shell has one. */
export function ActionDialog() {
  const action = asked.value;
  return action && <Question key={action.title} action={action} />;
}

function Question({ action }: { action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isStopped = useRef(false);
  const isCounted = useRef(false);
  const [counting, setCounting] = useState("Counting …");
  const [typed, setTyped] = useState("");
  const [value, setValue] = useState(String(action.asks?.initial ?? ""));
  const [count, setCount] = useState<Count | null>(null);
  const [progress, setProgress] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isRunning, setRunning] = useState(false);

  useEffect(() => {
    dialog.current?.showModal();
    const counting = { report: setCounting, isStopped: () => isCounted.current };
    action.dryRun?.(counting).then(setCount, setError);
    action.edits?.load().then(setValue, setError);
    return () => { isCounted.current = true; };
  }, [action]);

  // Closed before it goes: the browser then gives the focus back to the button that asked.
  const close = (): void => {
    dialog.current?.close();
    asked.value = null;
  };
  const act = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isRunning) return;
    setRunning(true);
    setError(null);
    isStopped.current = false;
    try {
      noteDone(await action.run({ report: setProgress, isStopped: () => isStopped.current }, value));
      close();
    } catch (problem) {
      setError(problem);
    }
    setRunning(false);
    refresh();
  };
  const wanted = action.typed === THE_NUMBER ? String(count?.number ?? "") : (action.typed ?? "");
  const problem = action.edits?.problem(value) ?? "";
  const isReady = (!action.dryRun || count !== null) && !isRunning && typed === wanted && !problem;
  const stop = (): void => {
    if (isRunning) isStopped.current = true;
    else if (asked.value === action) close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="question" onCancel={(event) => { event.preventDefault(); stop(); }} onClose={stop}>
      <form onSubmit={(event) => void act(event)}>
        <h2 id="question" class={action.typed ? "st-discarded" : ""}>{action.typed && <Icon name="warning" />}{action.title}</h2>
        <p>{action.explanation}</p>
        {action.dryRun && <p role="status"><strong>{count ? `Jobs that match now: ${atLeast(count.number, count.isExact)}` : !error && counting}</strong></p>}
        {action.dryRun && !count && !error && <p><button type="button" class="small" onClick={() => { isCounted.current = true; }}>Stop counting</button></p>}
        {action.asks && (
          <label>
            {action.asks.label}
            <input type="number" required step="1" min={action.asks.least} max={action.asks.most} value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          </label>
        )}
        {action.edits && (
          <label>
            {action.edits.label}
            <textarea value={value} spellcheck={false} onInput={(event) => setValue(event.currentTarget.value)} />
            <span role="status">{problem}</span>
          </label>
        )}
        {wanted && (
          <label>
            <span>Type <code>{wanted}</code> to confirm</span>
            <input value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        )}
        <p class="quiet label">The same on the command line:</p>
        <Code text={typeof action.command === "string" ? action.command : action.command(value)} label="Command line" />
        <p role="status">{progress}</p>
        <ErrorNote error={error} />
        <div class="buttons foot">
          <button type="button" onClick={stop}>{isRunning ? "Stop" : "Back"}</button>
          <button type="submit" class={action.typed ? "danger" : "main"} disabled={!isReady}>{action.verb}</button>
        </div>
      </form>
    </dialog>
  );
}
