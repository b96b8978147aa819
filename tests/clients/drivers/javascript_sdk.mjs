// Calls the public API of the official JavaScript SDK, and prints a line of JSON for each call.
// OJS_SDK names the built package, OJS_URL the server, OJS_API_KEY the key if it asks for one.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const sdk = (file) => import(pathToFileURL(`${process.env.OJS_SDK}/dist/esm/${file}`).href);
const { OJSClient, OJSWorker, chain, group, batch } = await sdk('index.js');
const { HttpTransport } = await sdk('transport/http.js');
const { DurableContext } = await sdk('durable.js');
const { reportProgress } = await sdk('progress.js');
const { subscribeQueue } = await sdk('subscribe.js');
const errors = await sdk('errors.js');

const url = process.env.OJS_URL;
const key = process.env.OJS_API_KEY;
const auth = key ? { auth: `Bearer ${key}` } : {};
const run = randomBytes(4).toString('hex');
const queue = `js-${run}`;
const PATIENCE_MS = 180_000;

const client = new OJSClient({ url, ...auth });
const transport = new HttpTransport({ url, ...auth });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(name, make) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no end in sight')), PATIENCE_MS);
  });
  try {
    const answer = await Promise.race([make(), late]);
    console.log(JSON.stringify({ call: name, ok: true }));
    return answer;
  } catch (problem) {
    const detail = `${problem?.name}: ${problem?.message}`.replaceAll(/\s+/g, ' ').slice(0, 400);
    console.log(JSON.stringify({ call: name, ok: false, detail }));
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

async function rejects(kind, make) {
  try {
    await make();
  } catch (problem) {
    assert.ok(problem instanceof kind, `${problem?.name}: ${problem?.message}`);
    return problem;
  }
  throw new Error(`${kind.name} was not thrown`);
}

async function until(isDone) {
  for (;;) {
    const found = await isDone();
    if (found) return found;
    await sleep(100);
  }
}

const later = (ms) => new Date(Date.now() + ms).toISOString();

async function fetchOne(from) {
  return until(async () => {
    const answer = await transport.request({
      method: 'POST',
      path: '/workers/fetch',
      body: { queues: [from], count: 1, worker_id: 'js-reports', visibility_timeout_ms: 30_000 },
    });
    return answer.body.jobs[0];
  });
}

// ---------------------------------------------------------------------------------------- jobs
const first = await call('client.enqueue', async () => {
  const job = await client.enqueue('js.simple', ['a', 1], { queue });
  assert.deepEqual([job.type, job.queue, job.args, job.state], ['js.simple', queue, ['a', 1], 'available']);
  assert.ok(job.created_at && job.enqueued_at);
  return job;
});
await call('client.enqueue of an object', async () => {
  assert.deepEqual((await client.enqueue('js.simple', { to: 'x' }, { queue })).args, [{ to: 'x' }]);
});
await call('client.enqueue with options', async () => {
  const job = await client.enqueue('js.options', [{ to: 'x' }], {
    queue, priority: 7, timeout: 90_000, expiresAt: later(3_600_000), tags: ['one', 'two'],
    meta: { k: 'v' }, visibilityTimeout: 60_000,
    retry: { maxAttempts: 5, initialInterval: 'PT2S', onExhaustion: 'dead_letter' },
  });
  assert.deepEqual([job.priority, job.timeout_ms, job.meta], [7, 90_000, { k: 'v' }]);
  assert.deepEqual([job.max_attempts, job.retry.max_attempts, job.tags], [5, 5, ['one', 'two']]);
  assert.equal(job.retry.on_exhaustion, 'dead_letter');
});
await call('client.enqueue with delay', async () => {
  const job = await client.enqueue('js.delayed', [], { queue, delay: '10m' });
  assert.equal(job.state, 'scheduled');
  assert.ok(job.scheduled_at);
});
await call('client.enqueue with delay (ISO 8601)', async () => {
  assert.equal((await client.enqueue('js.delayed', [], { queue, delay: 'PT10M' })).state, 'scheduled');
});
await call('client.enqueue with unique (reject)', async () => {
  const unique = { key: ['type', 'queue', 'args'], period: 'PT1H' };
  const job = await client.enqueue('js.unique', [run], { queue, unique });
  const again = () => client.enqueue('js.unique', [run], { queue, unique });
  const error = await rejects(errors.OJSDuplicateError, again);
  assert.equal(error.details?.existing_job_id, job.id);
});
await call('client.enqueue with unique (fields of the arguments)', async () => {
  const unique = { key: ['user'], onConflict: 'ignore' };
  const one = await client.enqueue('js.fields', [{ user: run, n: 1 }], { queue, unique });
  const two = await client.enqueue('js.fields', [{ user: run, n: 2 }], { queue, unique });
  assert.equal(one.id, two.id);
});
await call('client.enqueue with unique (replace)', async () => {
  const unique = { key: ['type', 'args'], onConflict: 'replace' };
  const one = await client.enqueue('js.replaced', [run], { queue, unique });
  const two = await client.enqueue('js.replaced', [run], { queue, unique });
  assert.notEqual(one.id, two.id);
  assert.equal((await client.getJob(one.id)).state, 'cancelled');
});
await call('client.useEnqueue', async () => {
  const other = new OJSClient({ url, ...auth });
  other.useEnqueue('stamp', (job, next) => next({ ...job, meta: { trace: 't1' } }));
  assert.deepEqual((await other.enqueue('js.middleware', [], { queue })).meta, { trace: 't1' });
});
await call('client.enqueueBatch', async () => {
  const specs = [0, 1, 2].map((n) => ({ type: 'js.batch', args: [n], options: { queue } }));
  assert.deepEqual((await client.enqueueBatch(specs)).map((job) => job.args), [[0], [1], [2]]);
});
await call('client.getJob', async () => {
  assert.deepEqual((await client.getJob(first.id)).args, ['a', 1]);
});
await call('client.getJob of an unknown job', async () => {
  const unknown = '01900000-0000-7000-8000-000000000000';
  const error = await rejects(errors.OJSNotFoundError, () => client.getJob(unknown));
  assert.ok(error.requestId);
});
await call('client.cancelJob', async () => {
  assert.equal((await client.cancelJob(first.id)).state, 'cancelled');
});
await call('client.cancelJob of a cancelled job', async () => {
  const error = await rejects(errors.OJSError, () => client.cancelJob(first.id));
  assert.equal(error.code, 'conflict');
});

// -------------------------------------------------------------------------------------- queues
await call('client.queues.list', async () => {
  const found = (await client.queues.list()).find((each) => each.name === queue);
  assert.equal(found.paused, false);
});
await call('client.queues.stats', async () => {
  const name = `${queue}-stats`;
  const spec = { type: 'js.counted', options: { queue: name } };
  const delayed = { type: 'js.counted', options: { queue: name, delay: '1h' } };
  await client.enqueueBatch([spec, spec, spec, delayed]);
  const found = await client.queues.stats(name);
  assert.deepEqual([found.name, found.paused], [name, false]);
  assert.deepEqual([found.available, found.scheduled, found.active, found.completed], [3, 1, 0, 0]);
});
await call('client.queues.pause', async () => {
  await client.queues.pause(queue);
  assert.equal((await client.queues.stats(queue)).paused, true);
});
await call('client.queues.resume', async () => {
  await client.queues.resume(queue);
  assert.equal((await client.queues.stats(queue)).paused, false);
});

// ---------------------------------------------------------------------------------- workflows
const step = (n) => ({ type: `js.step${n}`, args: [n], options: { queue } });
const made = await call('client.workflow (chain)', async () => {
  const found = await client.workflow(chain(step(1), step(2)));
  assert.equal(found.type, 'chain');
  assert.equal(found.metadata.job_count, 2);
  return found;
});
await call('client.workflow (group)', async () => {
  assert.equal((await client.workflow(group(step(1), step(2)))).type, 'group');
});
await call('client.workflow (batch)', async () => {
  const found = await client.workflow(batch([step(1), step(2)], { on_complete: step(3) }));
  assert.equal(found.type, 'batch');
});
await call('client.workflow (chain of groups)', async () => {
  const found = await client.workflow(chain(step(1), group(step(2), step(3))));
  assert.equal(found.metadata.job_count, 3);
});
await call('client.getWorkflow', async () => {
  const found = await client.getWorkflow(made.id);
  assert.deepEqual([found.id, found.metadata.completed_count], [made.id, 0]);
});
await call('client.cancelWorkflow', async () => {
  await client.cancelWorkflow(made.id);
  assert.equal((await client.getWorkflow(made.id)).state, 'cancelled');
});

// ------------------------------------------------------------------------------- dead letters
async function dead() {
  const retry = { maxAttempts: 1, onExhaustion: 'dead_letter' };
  const job = await client.enqueue('js.dead', ['x'], { queue: `${queue}-dead`, retry });
  await fetchOne(`${queue}-dead`);
  const error = { code: 'handler_error', message: 'no', retryable: false };
  await transport.request({ method: 'POST', path: '/workers/nack', body: { job_id: job.id, error } });
  return job.id;
}
const lost = [await dead(), await dead()];
await call('client.queues.listDeadLetter', async () => {
  const found = (await client.queues.listDeadLetter()).find((job) => job.id === lost[0]);
  assert.deepEqual([found.type, found.args, found.error.message], ['js.dead', ['x'], 'no']);
  assert.ok(found.discarded_at);
  assert.equal(found.total_attempts, 1);
});
await call('client.queues.retryDeadLetter', async () => {
  await client.queues.retryDeadLetter(lost[0]);
  assert.equal((await client.getJob(lost[0])).state, 'available');
});
await call('client.queues.discardDeadLetter', async () => {
  await client.queues.discardDeadLetter(lost[1]);
  await rejects(errors.OJSNotFoundError, () => client.getJob(lost[1]));
});

// ----------------------------------------------------------------------------- cron and schemas
const cron = `js-cron-${run}`;
await call('client.cron.register', async () => {
  const found = await client.cron.register({
    name: cron, cron: '0 9 * * *', timezone: 'Europe/Vienna', type: 'js.cron', args: [1], options: { queue },
  });
  assert.deepEqual([found.name, found.cron, found.type, found.status], [cron, '0 9 * * *', 'js.cron', 'active']);
});
await call('client.cron.list', async () => {
  const page = await client.cron.list({ page: 1, per_page: 100 });
  assert.equal(page.cron_jobs.find((each) => each.name === cron).timezone, 'Europe/Vienna');
  assert.deepEqual([page.pagination.page, page.pagination.per_page], [1, 100]);
});
await call('client.cron.unregister', async () => {
  await client.cron.unregister(cron);
  const page = await client.cron.list({ per_page: 100 });
  assert.ok(!page.cron_jobs.some((each) => each.name === cron));
});
const type = `js.schema${run}`;
const uri = `https://example.com/schemas/${type}/1.0.0`;
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'array', items: { type: 'object', required: ['to'] },
};
await call('client.schemas.register', async () => {
  const found = await client.schemas.register({ uri, type, version: '1.0.0', schema });
  assert.deepEqual([found.uri, found.type, found.version], [uri, type, '1.0.0']);
});
await call('client.schemas.list', async () => {
  const page = await client.schemas.list({ per_page: 100 });
  assert.ok(page.schemas.some((each) => each.uri === uri));
});
await call('client.schemas.get', async () => {
  assert.deepEqual((await client.schemas.get(uri)).schema, schema);
});
await call('client.schemas.delete', async () => {
  await client.schemas.delete(uri);
  await rejects(errors.OJSNotFoundError, () => client.schemas.get(uri));
});

// -------------------------------------------------------------------------------------- system
await call('client.health', async () => {
  assert.equal((await client.health()).status, 'ok');
});
await call('client.manifest', async () => {
  assert.equal((await client.manifest()).capabilities.batch_enqueue, true);
});
await call('reportProgress', async () => {
  await client.enqueue('js.report', [], { queue: `${queue}-reports` });
  const job = await fetchOne(`${queue}-reports`);
  await reportProgress(transport, job.id, 40, 'half', { rows: 4 });
  const answer = await transport.request({ method: 'GET', path: `/jobs/${job.id}/progress` });
  assert.deepEqual([answer.body.percentage, answer.body.data], [40, { rows: 4 }]);
});

// ------------------------------------------------------------------------------------- workers
const work = `${queue}-worker`;
const worker = (settings = {}) =>
  new OJSWorker({ url, ...auth, queues: [work], pollInterval: 100, heartbeatInterval: 200, handleSignals: false, ...settings });

async function ends(made, id, state) {
  await made.start();
  try {
    return await until(async () => {
      const job = await client.getJob(id);
      return ['completed', 'discarded', 'cancelled'].includes(job.state) ? job : undefined;
    });
  } finally {
    await made.stop();
  }
}

await call('OJSWorker: handler and middleware', async () => {
  const seen = [];
  const one = worker();
  one.register('js.work', async (ctx) => {
    await sleep(500);
    seen.push(ctx.attempt);
    return { doubled: ctx.job.args[0] * 2 };
  });
  one.use(async (ctx, next) => {
    seen.push(ctx.job.type);
    return next();
  });
  const job = await client.enqueue('js.work', [21], { queue: work });
  assert.deepEqual((await ends(one, job.id)).result, { doubled: 42 });
  assert.deepEqual(seen, ['js.work', 1]);
});
await call('OJSWorker: retry after an error', async () => {
  const attempts = [];
  const one = worker();
  one.register('js.flaky', async (ctx) => {
    attempts.push(ctx.attempt);
    if (attempts.length === 1) throw new Error('not yet');
    return 'ok';
  });
  const retry = { maxAttempts: 3, initialInterval: 'PT0.2S', jitter: false };
  const job = await client.enqueue('js.flaky', [], { queue: work, retry });
  const done = await ends(one, job.id);
  assert.deepEqual([done.state, attempts, done.errors[0].message], ['completed', [1, 2], 'not yet']);
});
await call('OJSWorker: no handler', async () => {
  const job = await client.enqueue('js.nobody', [], { queue: work, retry: { maxAttempts: 1 } });
  assert.equal((await ends(worker(), job.id)).state, 'discarded');
});
await call('OJSWorker: terminate by directive', async () => {
  const one = worker();
  await one.start();
  const path = `/admin/workers/${one.workerId}/terminate`;
  await until(() => transport.request({ method: 'POST', path }).then(() => true, () => false));
  await until(async () => one.currentState === 'terminated');
});
await call('OJSWorker.registerDurable: replay after a crash', async () => {
  const runs = [];
  const values = [];
  const one = worker();
  one.registerDurable('js.durable', async (ctx, dc) => {
    const paid = await dc.sideEffect('pay', async () => {
      runs.push('ran');
      return 'paid';
    });
    values.push([paid, dc.now().toISOString(), dc.random(4)]);
    await dc.checkpoint(1, { paid: true });
    if (values.length === 1) throw new Error('crashed');
    return values.length;
  });
  const retry = { maxAttempts: 3, initialInterval: 'PT0.2S', jitter: false };
  const job = await client.enqueue('js.durable', [], { queue: work, retry });
  assert.equal((await ends(one, job.id)).state, 'completed');
  assert.deepEqual(runs, ['ran']);
  assert.deepEqual(values[0], values[1]);
});
await call('DurableContext.checkpoint and complete', async () => {
  await client.enqueue('js.saved', [], { queue: `${queue}-durable` });
  const job = await fetchOne(`${queue}-durable`);
  const dc = await DurableContext.create(transport, job.id, 1);
  await dc.sideEffect('pay', async () => 1);
  await dc.checkpoint(3, { paid: true });
  const again = await DurableContext.create(transport, job.id, 2);
  assert.equal(again.isReplaying(), true);
  const path = `/checkpoints/${job.id}/resume`;
  const saved = (await transport.request({ method: 'GET', path })).body.checkpoint;
  assert.deepEqual([saved.state, saved.step_index], [{ paid: true }, 3]);
  await dc.complete();
  assert.equal((await transport.request({ method: 'GET', path })).body.has_checkpoint, false);
});
await call('subscribeQueue', async () => {
  let received;
  await client.enqueue('js.event', [], { queue: `${queue}-events` }); // only one that exists is followed
  const subscription = subscribeQueue({ url, auth: key }, `${queue}-events`, (event) => {
    received = event;
  });
  try {
    await sleep(1000);
    await client.enqueue('js.event', [], { queue: `${queue}-events` });
    const end = Date.now() + 5000;
    await until(async () => received || Date.now() > end);
    assert.ok(received, 'no event arrived within 5 seconds');
  } finally {
    subscription.unsubscribe();
  }
});
process.exit(0);
