# Calls the public API of the official Ruby SDK, and prints a line of JSON for each call.
# OJS_URL names the server, OJS_API_KEY the key if it asks for one.
require "json"
require "logger"
require "ojs"
require "securerandom"
require "timeout"
require "time"

URL = ENV.fetch("OJS_URL")
KEY = ENV.fetch("OJS_API_KEY", "")
HEADERS = KEY.empty? ? {} : { "Authorization" => "Bearer #{KEY}" }
RUN = SecureRandom.hex(4)
QUEUE = "rb-#{RUN}"
PATIENCE_S = 180

def call(name)
  answer = Timeout.timeout(PATIENCE_S) { yield }
  puts JSON.generate({ call: name, ok: true })
  answer
rescue StandardError, Timeout::Error => e
  puts JSON.generate({ call: name, ok: false, detail: "#{e.class}: #{e.message}"[0, 400] })
  nil
ensure
  $stdout.flush
end

def same(found, expected)
  raise "found #{found.inspect}, expected #{expected.inspect}" unless found == expected
end

def holds(is_true, what = nil)
  raise "does not hold: #{what.inspect}" unless is_true
end

def raises(kind)
  yield
rescue kind => e
  e
else
  raise "#{kind} was not raised"
end

def wait_until
  loop do
    found = yield
    return found if found
    sleep 0.1
  end
end

def later(seconds)
  (Time.now.utc + seconds).iso8601
end

client = OJS::Client.new(URL, headers: HEADERS)
transport = OJS::Transport::HTTP.new(URL, headers: HEADERS)
fetch_one = lambda do |queue|
  wait_until { transport.post("/workers/fetch", body: { "queues" => [queue], "batch_size" => 1 })["jobs"].first }
end

# ------------------------------------------------------------------------------------------ jobs
first = call("Client#enqueue") do
  job = client.enqueue("rb.simple", { to: "x" }, queue: QUEUE)
  same([job.type, job.queue, job.args, job.state], ["rb.simple", QUEUE, { "to" => "x" }, "available"])
  holds(job.created_at && job.enqueued_at, job)
  job
end
call("Client#enqueue with keywords as arguments") do
  same(client.enqueue("rb.simple", to: "x", queue: QUEUE).args, { "to" => "x" })
end
call("Client#enqueue with options") do
  job = client.enqueue("rb.options", ["a", 1], queue: QUEUE, priority: 7, timeout: 90, meta: { k: "v" },
                                               expires_at: later(3600),
                                               retry: { max_attempts: 5, initial_interval: "PT2S", on_exhaustion: "dead_letter" })
  same([job.priority, job.timeout, job.meta, job.args], [7, 90, { "k" => "v" }, ["a", 1]])
  same([job.retry_policy.max_attempts, job.retry_policy.initial_interval], [5, "PT2S"])
  same(job.retry_policy.on_exhaustion, "dead_letter")
end
call("Client#enqueue with delay") do
  same(client.enqueue("rb.delayed", {}, queue: QUEUE, delay: "10m").state, "scheduled")
end
call("Client#enqueue with scheduled_at") do
  at = later(3600)
  job = client.enqueue("rb.delayed", {}, queue: QUEUE, scheduled_at: at)
  same([job.state, job.scheduled_at], ["scheduled", at])
end
call("Client#enqueue with unique (reject)") do
  unique = { keys: %w[type queue args], period: "PT1H" }
  job = client.enqueue("rb.unique", [RUN], queue: QUEUE, unique: unique)
  same(job.unique_policy.keys, %w[type queue args])
  error = raises(OJS::ConflictError) { client.enqueue("rb.unique", [RUN], queue: QUEUE, unique: unique) }
  same(error.existing_job_id, job.id)
end
call("Client#enqueue with unique (args_keys, ignore)") do
  unique = { keys: %w[type args], args_keys: ["user"], on_conflict: "ignore" }
  one = client.enqueue("rb.ignored", { user: RUN, n: 1 }, queue: QUEUE, unique: unique)
  same(client.enqueue("rb.ignored", { user: RUN, n: 2 }, queue: QUEUE, unique: unique).id, one.id)
end
call("Client#enqueue_batch") do
  made = client.enqueue_batch((0..2).map { |n| { type: "rb.batch", args: [n], queue: QUEUE } })
  same(made.map(&:args), [[0], [1], [2]])
end
call("Client#get_job") { same(client.get_job(first.id).args, { "to" => "x" }) }
call("Client#get_job of an unknown job") do
  error = raises(OJS::NotFoundError) { client.get_job("01900000-0000-7000-8000-000000000000") }
  holds(error.request_id, error)
end
call("Client#cancel_job") { same(client.cancel_job(first.id)["state"], "cancelled") }
call("Client#cancel_job of a cancelled job") do
  same(raises(OJS::Error) { client.cancel_job(first.id) }.http_status, 409)
end

# ---------------------------------------------------------------------------------------- queues
call("Client#queues") do
  same(client.queues.find { |each| each["name"] == QUEUE }["status"], "active")
end
call("Client#queue_stats") do
  name = "#{QUEUE}-stats"
  spec = { type: "rb.counted", queue: name }
  client.enqueue_batch([spec, spec, spec, spec.merge(delay: "1h")])
  found = client.queue_stats(name)
  same([found.name, found.depth, found.active, found.scheduled, found.paused], [name, 4, 0, 1, false])
end
call("Client#pause_queue") do
  client.pause_queue(QUEUE)
  same(client.queue_stats(QUEUE).paused, true)
end
call("Client#resume_queue") do
  client.resume_queue(QUEUE)
  same(client.queue_stats(QUEUE).paused, false)
end

# ------------------------------------------------------------------------------------- workflows
step = ->(n) { OJS::Step.new(type: "rb.step#{n}", args: { n: n }, queue: QUEUE) }
made = call("Client#workflow (chain)") do
  found = client.workflow(OJS.chain(step[1], step[2], name: "rb-chain"))
  same([found["type"], found["name"], found["metadata"]["job_count"]], ["chain", "rb-chain", 2])
  found
end
call("Client#workflow (group)") { same(client.workflow(OJS.group(step[1], step[2]))["type"], "group") }
call("Client#workflow (batch)") do
  same(client.workflow(OJS.batch([step[1], step[2]], on_complete: step[3]))["type"], "batch")
end
call("Client#get_workflow") { same(client.get_workflow(made["id"])["id"], made["id"]) }
call("Client#cancel_workflow") do
  same(client.cancel_workflow(made["id"])["state"], "cancelled")
end

# ---------------------------------------------------------------------------------- dead letters
dead = lambda do
  job = client.enqueue("rb.dead", { n: 1 }, queue: "#{QUEUE}-dead", retry: { max_attempts: 1, on_exhaustion: "dead_letter" })
  fetch_one["#{QUEUE}-dead"]
  error = { "code" => "handler_error", "message" => "no", "retryable" => false }
  transport.post("/workers/nack", body: { "job_id" => job.id, "error" => error })
  job.id
end
one, two = dead.call, dead.call
call("Client#dead_letter_jobs") do
  found = client.dead_letter_jobs.find { |job| job.id == one }
  same([found.type, found.args, found.error["message"]], ["rb.dead", { "n" => 1 }, "no"])
end
call("Client#retry_dead_letter") { same(client.retry_dead_letter(one).state, "available") }
call("Client#discard_dead_letter") do
  client.discard_dead_letter(two)
  raises(OJS::NotFoundError) { client.get_job(two) }
end

# ------------------------------------------------------------------------------ cron and schemas
cron = "rb-cron-#{RUN}"
call("Client#register_cron_job") do
  found = client.register_cron_job(name: cron, cron: "0 9 * * *", type: "rb.cron", args: [1], queue: QUEUE, meta: { k: "v" })
  same([found["name"], found["queue"], found["expression"]], [cron, QUEUE, "0 9 * * *"])
end
call("Client#list_cron_jobs") do
  same(client.list_cron_jobs.find { |each| each["name"] == cron }["type"], "rb.cron")
end
call("Client#unregister_cron_job") do
  client.unregister_cron_job(cron)
  holds(client.list_cron_jobs.none? { |each| each["name"] == cron })
end
type = "rb.schema#{RUN}"
uri = "https://example.com/schemas/#{type}/1.0.0"
schema = { "$schema" => "https://json-schema.org/draft/2020-12/schema", "type" => "array" }
call("Client#register_schema") do
  found = client.register_schema(uri: uri, type: type, version: "1.0.0", schema: schema)
  same([found["uri"], found["type"], found["version"]], [uri, type, "1.0.0"])
end
call("Client#list_schemas") { holds(client.list_schemas.any? { |each| each["uri"] == uri }) }
call("Client#get_schema") { same(client.get_schema(uri)["schema"]["schema"], schema) }
call("Client#delete_schema") do
  client.delete_schema(uri)
  raises(OJS::NotFoundError) { client.get_schema(uri) }
end

# ---------------------------------------------------------------------------------------- system
call("Client#health") { same(client.health["status"], "ok") }
call("Client#manifest") { same(client.manifest["capabilities"]["batch_enqueue"], true) }

# --------------------------------------------------------------------------------------- workers
WORK = "#{QUEUE}-worker".freeze
new_worker = lambda do
  OJS::Worker.new(URL, queues: [WORK], headers: HEADERS, concurrency: 2, poll_interval: 0.1,
                       heartbeat_interval: 0.2, shutdown_timeout: 5, logger: Logger.new(IO::NULL))
end
ends = lambda do |worker, id|
  running = Thread.new { worker.start }
  begin
    wait_until do
      job = client.get_job(id)
      job if %w[completed discarded cancelled].include?(job.state)
    end
  ensure
    worker.stop
    running.join(10)
  end
end
call("Worker: handler and middleware") do
  seen = []
  worker = new_worker.call
  worker.register("rb.work") do |ctx|
    sleep 0.5
    ctx.heartbeat
    { "doubled" => ctx.job.args["n"] * 2 }
  end
  worker.use("around") do |ctx, &following|
    seen << ctx.job.type
    following.call
  end
  job = client.enqueue("rb.work", { n: 21 }, queue: WORK)
  done = ends[worker, job.id]
  same([done.state, done.result, seen], ["completed", { "doubled" => 42 }, ["rb.work"]])
end
call("Worker: retry after an error") do
  attempts = []
  worker = new_worker.call
  worker.register("rb.flaky") do |ctx|
    attempts << ctx.job.attempt
    raise "not yet" if attempts.size == 1

    "ok"
  end
  job = client.enqueue("rb.flaky", {}, queue: WORK, retry: { max_attempts: 3, initial_interval: "PT0.2S", jitter: false })
  same([ends[worker, job.id].state, attempts], ["completed", [1, 2]])
end
call("Worker: no handler") do
  job = client.enqueue("rb.nobody", {}, queue: WORK)
  done = ends[new_worker.call, job.id]
  same([done.state, done.error["code"]], %w[discarded handler_not_found])
end
call("Worker: terminate by directive") do
  worker = new_worker.call
  worker.register("rb.long") { sleep 0.1 while worker.state == :running }
  job = client.enqueue("rb.long", {}, queue: WORK)
  running = Thread.new { worker.start }
  wait_until do # the worker beats while it has a job, and names itself only then
    transport.post("/admin/workers/terminate", body: { "all" => true })
    worker.state != :running
  end
  holds(running.join(15), "the worker did not end")
  wait_until { client.get_job(job.id).state == "completed" }
end

# --------------------------------------------------------------------------------------- durable
Context = Struct.new(:job, :server_url)
call("DurableContext: replay after a crash") do
  runs = []
  client.enqueue("rb.durable", {}, queue: "#{QUEUE}-durable", retry: { max_attempts: 3, initial_interval: "PT0.1S", jitter: false })
  attempt = lambda do
    job = OJS::Job.from_hash(fetch_one["#{QUEUE}-durable"])
    dc = OJS::DurableContext.new(Context.new(job, URL))
    values = [dc.side_effect("pay") { runs << "ran"; "paid" }, dc.now.iso8601(6), dc.random(4)]
    dc.save({ "paid" => true })
    [job, values]
  end
  job, before = attempt.call
  transport.post("/workers/nack", body: { "job_id" => job.id, "error" => { "code" => "crash", "message" => "crashed", "retryable" => true } })
  job, after = attempt.call
  same([after, runs], [before, ["ran"]])
  dc = OJS::DurableContext.new(Context.new(job, URL))
  same(dc.resume, { "paid" => true })
  holds(dc.complete, "complete")
  same(OJS::DurableContext.new(Context.new(job, URL)).resume, nil)
end
call("SSESubscription.subscribe_queue") do
  received = nil
  client.enqueue("rb.event", {}, queue: "#{QUEUE}-events") # only a queue that exists is followed
  subscription = OJS::SSESubscription.subscribe_queue(URL, "#{QUEUE}-events", auth: KEY.empty? ? nil : KEY) { |event| received = event }
  sleep 1
  client.enqueue("rb.event", {}, queue: "#{QUEUE}-events")
  deadline = Time.now + 5
  wait_until { received || Time.now > deadline }
  subscription.cancel
  holds(received, "no event arrived within 5 seconds")
end
