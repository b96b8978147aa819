// What a new server shows: how to send the first job, and how to run it.

import { useState } from "preact/hooks";
import { Code, State } from "../parts";
import { SERVER, ojsAws } from "../quoting";
import { keyOption } from "../session";

const JOB = '{"type": "email.send", "args": ["ada@example.com"], "options": {"queue": "email"}}';

const senders = () => [
  ["curl", `curl ${SERVER}/ojs/v1/jobs \\\n  -H 'Content-Type: application/json'${keyOption()} \\\n  -d '${JOB}'`],
  ["Python", `from ojs_aws import SyncClient\n\nwith SyncClient("${SERVER}") as client:\n    client.enqueue("email.send", ["ada@example.com"], queue="email")`],
  ["ojs-aws", ojsAws("enqueue", "email.send", '["ada@example.com"]', "--queue", "email")],
] as const;

const WORKER = `# shop.py
from ojs_aws import Jobs, Worker

jobs = Jobs()


@jobs.job("email.send", queue="email")
async def send_email(to: str) -> dict[str, str]:
    return {"sent_to": to}


worker = Worker(jobs)
`;

export function Welcome({ workers }: { workers: number }) {
  const [chosen, choose] = useState(0);
  const all = senders();
  const [name, text] = all[chosen] ?? all[0];
  return (
    <div class="welcome">
      <div><h2>No jobs yet. Send the first one.</h2><p class="quiet">This page fills itself as soon as a job arrives; leave it open.</p></div>
      <ol class="card steps">
        <li>
          <strong>Enqueue a job</strong>
          <div class="segments" role="group" aria-label="Language">
            {all.map(([each], index) => <button key={each} type="button" class="small" aria-pressed={index === chosen} onClick={() => choose(index)}>{each}</button>)}
          </div>
          <Code text={text} label={`Enqueue with ${name}`} />
        </li>
        <li>
          <strong>Start a worker {workers > 0 && <State name="running" label={`${workers} running`} />}</strong>
          <p class="quiet">Write this to shop.py, and run <code>{`OJS_URL=${SERVER} ojs-aws run shop:worker`}</code>. It takes jobs of the queue email, and shows up under Workers.</p>
          <Code text={WORKER} label="shop.py" />
        </li>
      </ol>
    </div>
  );
}
