// Enqueues a copy of a job, from the source text of what was sent, and writes the same for other programs.

import { useMemo, useState } from "preact/hooks";
import { open } from "../address";
import { call, JsonText } from "../api";
import { type Source, at, indented, readSource } from "../json_source";
import { newJobId } from "../job_id";
import { Code, ErrorNote } from "../parts";
import { SERVER, ojsAws, pythonText, shellWord } from "../quoting";
import { keyOption } from "../session";

/** Attributes that are the first job's own, or set by the system: a copy gets new ones. */
export const NOT_COPIED: ReadonlySet<string> = new Set([
  "activated_at", "attempt", "cancelled_at", "checkpoint", "completed_at", "created_at", "dead_letter", "discarded_at",
  "enqueued_at", "error", "errors", "events", "expires_at", "history", "id", "last_checkpoint", "max_attempts",
  "metadata", "next_attempt_at", "next_retry_at", "parent_id", "progress", "progress_data", "reservation_id", "result",
  "result_expires_at", "result_size_bytes", "result_stored_at", "retry_delay_ms", "retry_policy", "root_id",
  "scheduled_at", "specversion", "started_at", "state", "workflow", "workflow_id", "x_aws_past_errors",
  "x_aws_sequence_position", "x_aws_uncounted_attempts",
]);

/** Return the envelope of a copy; each value is the source text of the first job. */
export function copyOf(job: Source): string {
  const members = [...job.members].filter(([name, value]) => !NOT_COPIED.has(name) && !(name === "meta" && value.text === "{}"));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value.text}`).join(",")}}`;
}

export function JobCopy({ source }: { source: Source }) {
  const [draft, setDraft] = useState<string | null>(null);
  const id = useMemo(newJobId, []);
  const copy = copyOf(source);
  // With its id, the copy exists once, also when an answer is lost and it is sent again.
  const body = draft ?? copy.replace("{", `{"id":"${id}",`);
  return (
    <>
      <details class="card fold">
        <summary><h2>Enqueue a copy</h2> <span class="quiet">of this job, changed or not</span></summary>
        <Enqueue body={body} setBody={setDraft} />
      </details>
      <details class="card fold">
        <summary><h2>Send it again</h2> <span class="quiet">As curl, Python and ojs-aws</span></summary>
        <Programs body={copy} />
      </details>
    </>
  );
}

function Enqueue({ body, setBody }: { body: string; setBody: (text: string) => void }) {
  const [error, setError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const enqueue = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSending(true);
    setError(null);
    try {
      const { value } = await call<{ job: { id: string } }>("POST", "jobs", new JsonText(body));
      open(["jobs", value.job.id]);
    } catch (problem) {
      setError(problem);
    }
    setSending(false);
  };
  return (
    <form onSubmit={(event) => void enqueue(event)}>
      <p>This is sent exactly as it stands here. The copy is a new job with an id of its own; this job stays as it is.</p>
      <label>
        Envelope
        <textarea value={body} spellcheck={false} onInput={(event) => setBody(event.currentTarget.value)} />
      </label>
      <p class="quiet">The same on the command line:</p>
      <Code text={safely(body, commandOf) || "The envelope is not a JSON object yet."} label="Command line" />
      <ErrorNote error={error} />
      <div class="buttons">
        <button type="button" onClick={() => setBody(safely(body, indentedOf) || body)}>Indent</button>
        <button type="submit" class="main" disabled={isSending}>Enqueue a copy</button>
      </div>
    </form>
  );
}

function Programs({ body }: { body: string }) {
  const programs = useMemo(() => [["curl", curlOf(body)], ["Python", pythonOf(body)], ["ojs-aws", safely(body, commandOf)]] as const, [body]);
  return <>{programs.map(([name, text]) => <section key={name}><h3>{name}</h3><Code text={text} label={name} /></section>)}</>;
}

function indentedOf(job: Source): string {
  return indented(job.text);
}

function safely(body: string, write: (job: Source) => string): string {
  try {
    return write(readSource(body));
  } catch {
    return "";
  }
}

/** Return the curl command that enqueues an envelope, byte for byte. */
export function curlOf(body: string): string {
  return `curl -s ${shellWord(`${SERVER}/ojs/v1/jobs`)} -H 'Content-Type: application/json'${keyOption()} \\\n  -d ${shellWord(body)}`;
}

/** Return a Python program that enqueues an envelope, byte for byte. */
export function pythonOf(body: string): string {
  return [
    "from ojs_aws import Job, SyncClient",
    "",
    `job = Job.from_json(${pythonText(body)})`,
    `with SyncClient(${pythonText(SERVER)}) as client:`,
    "    print(client.enqueue(job).id)",
  ].join("\n");
}

const AS_OPTIONS: ReadonlySet<string> = new Set(["id", "type", "args", "queue", "priority", "timeout_ms", "meta"]);
const RETRY_OPTIONS: ReadonlySet<string> = new Set(["max_attempts", "on_exhaustion"]);

/** Return the `ojs-aws` line that enqueues a job; a comment names what the command has no option for. */
export function commandOf(job: Source): string {
  const text = (name: string): string => at(job, name)?.text ?? "";
  const words = ["enqueue", JSON.parse(text("type") || '""') as string, text("args") || "[]"];
  const id = at(job, "id");
  if (id) words.push("--id", JSON.parse(id.text) as string);
  const queue = at(job, "queue") ?? at(job, "options", "queue");
  if (queue) words.push("--queue", JSON.parse(queue.text) as string);
  if (text("priority") && text("priority") !== "0") words.push("--priority", text("priority"));
  const timeout = Number(text("timeout_ms"));
  const missing = [...job.members.keys()].filter((name) => !AS_OPTIONS.has(name) && name !== "retry" && name !== "options");
  if (timeout && timeout % 1000 === 0) words.push("--timeout-s", String(timeout / 1000));
  const retry = at(job, "retry");
  const attempts = retry && at(retry, "max_attempts")?.text;
  if (attempts) words.push("--max-attempts", attempts);
  if (retry && at(retry, "on_exhaustion")?.text === '"dead_letter"') words.push("--dead-letter");
  missing.push(...[...(retry?.members.keys() ?? [])].filter((name) => !RETRY_OPTIONS.has(name)).map((name) => `retry.${name}`));
  for (const [name, value] of at(job, "meta")?.members ?? []) {
    if (value.kind === "string" && !name.includes("=")) words.push("--meta", `${name}=${JSON.parse(value.text) as string}`);
    else missing.push(`meta.${name}`);
  }
  const note = missing.length > 0 ? `\n# Without ${missing.join(", ")}: the command has no option for that; curl and Python send it.` : "";
  return ojsAws(...words) + note;
}
