"""What is broken on purpose: in the services, and in the conditions of the stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STORE: Final = "ojs_aws.adapters.dynamodb.jobs.store:JobStore"
TRANSITIONS: Final = "ojs_aws.adapters.dynamodb.jobs.transitions"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One breakage.

    :ivar where: ``module:function`` or ``module:Class.method``.
    :ivar changes: what stands there, and what stands there instead.
    """

    name: str
    what: str
    where: str
    changes: tuple[tuple[str, str], ...]


MUTATIONS: Final = (
    Mutation(
        "claim-anything",
        "the claim's conditions on the state and the place in line are dropped",
        f"{STORE}.claim",
        (
            (
                "if sort_key:",
                (
                    "state = update._clauses[0]\n"
                    "    is_there = f'attribute_exists({state.split()[0]})'\n"
                    "    update._clauses[0] = f'({state} OR {is_there})'\n"
                    "    if False:"
                ),
            ),
        ),
    ),
    Mutation(
        "claim-by-any-clock",
        "the claim's conditions on the instants are dropped",
        f"{TRANSITIONS}:claiming",
        (
            ('update.when(f"{update.name(n.ENQUEUED)} <= {moment}")', "pass"),
            ("expires, moment = update.name(n.EXPIRES), update.value(number(now))", "pass"),
            (
                'update.when(f"(attribute_not_exists({expires}) OR {expires} > {moment})")',
                "pass",
            ),
        ),
    ),
    Mutation(
        "ack-for-others",
        "ACK's condition on the holder is dropped",
        f"{TRANSITIONS}:completing",
        (("_be_held_by(update, holder.worker_id)", "pass"),),
    ),
    Mutation(
        "ack-of-any-attempt",
        "ACK's condition on the attempt is dropped",
        f"{TRANSITIONS}:completing",
        (("_be_attempt(update, holder.which)", "pass"),),
    ),
    Mutation(
        "ack-too-late",
        "ACK's condition on the end of the reservation is dropped",
        f"{TRANSITIONS}:completing",
        (('update.when(f"{update.name(n.RESERVED_UNTIL)} > {moment}")', "pass"),),
    ),
    Mutation(
        "ack-by-any-clock",
        "ACK's condition on the start is dropped",
        f"{TRANSITIONS}:completing",
        (('update.when(f"{update.name(n.STARTED)} <= {moment}")', "pass"),),
    ),
    Mutation(
        "lost-update",
        "the condition on the version is dropped",
        "ojs_aws.adapters.dynamodb.jobs.store:_be_as_read",
        (
            (
                'update.when(f"{update.name(n.VERSION)} = {update.value(number(job.version))}")',
                "pass",
            ),
            ("if job.token:", "if False:"),
        ),
    ),
    Mutation(
        "stored-twice",
        "PUSH's condition that the job is new is dropped",
        "ojs_aws.adapters.dynamodb.jobs.inserts:JobInserts.insert",
        (("Item=item, **_IS_NEW", "Item=item"),),
    ),
    Mutation(
        "place-kept",
        "ACK gives no place in a bucket back",
        f"{STORE}.acknowledge",
        (("for key in sorted(_slots(held))", "for key in ()"),),
    ),
    Mutation(
        "two-under-one-key",
        "the condition on the lock of a uniqueness key is dropped",
        "ojs_aws.adapters.dynamodb.unique:_lock_condition",
        (("if seen is None:", "return {}\n    if seen is None:"),),
    ),
    Mutation(
        "log-overwritten",
        "the condition that a place of the event log is free is dropped",
        "ojs_aws.adapters.dynamodb.events.log:EventLog._put",
        (('self.put_item(chunk, condition("attribute_not_exists(#pk)"))', "self.put_item(chunk)"),),
    ),
    Mutation(
        "cron-overwritten",
        "the conditions on the version of a cron job are dropped",
        "ojs_aws.adapters.dynamodb.cron:CronEntries.save",
        (
            ('update.when(f"{version} = {update.value(number(before.version))}")', "pass"),
            (
                (
                    'update.when(f"{update.name(n.CREATED)} = '
                    '{update.value(number(before.created_at))}")'
                ),
                "pass",
            ),
        ),
    ),
    Mutation(
        "bound-unchecked",
        "the condition on the bound of a queue's counter is dropped",
        "ojs_aws.adapters.dynamodb.queues.depths:Depths.take",
        (("number(bound - count)", "number(1_000_000)"),),
    ),
    Mutation(
        "key-given-away",
        "a unique job takes a key before the holder's end is written down",
        "ojs_aws.services.unique.admit:Uniqueness._settled",
        (("self.changer.settled(holder, now)", "deadlines.settle(holder, now)"),),
    ),
    Mutation(
        "push-lies",
        "PUSH answers although its write failed",
        "ojs_aws.services.jobs.new_jobs:NewJobs.store_one",
        (
            (
                "pushed = PushResult(existing, is_new=False)",
                (
                    "pushed = PushResult(existing, is_new=False)\n"
                    "        except Exception:\n"
                    "            pushed = PushResult(record)"
                ),
            ),
        ),
    ),
    Mutation(
        "too-early",
        "time-driven transitions do not wait for their time",
        "ojs_aws.domain.jobs.deadlines:settle_once",
        (("if due is None or due > now:", "if due is None:"),),
    ),
    Mutation(
        "uncounted",
        "a claim does not count the attempt",
        f"{TRANSITIONS}:claiming",
        (("update.add(n.ATTEMPT, 1)", "pass"),),
    ),
    Mutation(
        "never-exhausted",
        "a failure does not look at the number of attempts",
        "ojs_aws.domain.jobs.lifecycle:fail",
        ((" or job.counted_attempts >= job.allowed_attempts", ""),),
    ),
    Mutation(
        "beat-for-others",
        "BEAT does not look who holds the job",
        "ojs_aws.services.workers.heartbeat:_Extend.__call__",
        (('check_holder(job, "extend", self.holder)', "pass"),),
    ),
    Mutation(
        "beat-unread-for-others",
        "the conditions on the holder and the attempt are dropped of BEAT that reads no job",
        f"{TRANSITIONS}:extending",
        (
            ("_be_attempt(update, asked.which)", "pass"),
            ("_be_held_by(update, asked.worker_id)", "pass"),
        ),
    ),
    Mutation(
        "beat-unread-shortens",
        "the condition that a reservation ends later is dropped of BEAT that reads no job",
        f"{TRANSITIONS}:_move_ends",
        (
            ("last = update.value(number(asked.expires_at))", 'last = ""'),
            (
                'update.when(f"({ends} > {now} AND {ends} {is_before} {last})")',
                'update.when(f"{ends} > {now}")',
            ),
        ),
    ),
    Mutation(
        "beat-is-a-pace",
        "a worker's first heartbeat counts as if it had a pace",
        "ojs_aws.services.workers:has_pace",
        (("or worker.seen_before is not None", "or True"),),
    ),
    Mutation(
        "late-reports",
        "a report counts for whichever attempt is running",
        "ojs_aws.domain.jobs.held_job:AttemptRef.is_running",
        (
            (
                "if self.reservation_id is not None and self.reservation_id != held.id:",
                "if False:",
            ),
            ("return self.attempt is None or self.attempt == job.attempt", "return True"),
        ),
    ),
    Mutation(
        "given-back-counted",
        "an attempt that was given back counts",
        "ojs_aws.domain.jobs.lifecycle:requeue",
        (("uncounted_attempts=job.uncounted_attempts + 1", "uncounted_attempts=0"),),
    ),
    Mutation(
        "beat-shortens",
        "a heartbeat may end a reservation earlier",
        "ojs_aws.domain.jobs.held_job:_extended",
        (("max(expires_at, held.expires_at)", "expires_at"),),
    ),
    Mutation(
        "given-all-the-same",
        "FETCH gives out a job although another fetcher was faster",
        "ojs_aws.services.jobs.fetch.job_claims:JobClaims._lost",
        (
            (
                "if current is None:",
                (
                    "for each in [current] if current and current.reservation else []:\n"
                    "        self.claimed.append(each)\n    if current is None:"
                ),
            ),
        ),
    ),
    Mutation(
        "stray-messages",
        "messages that found nothing to run are not deleted",
        "ojs_aws.services.jobs.fetch.claim_round:UnusedMessages.give_back",
        (("self.job_messages.discard(self.queue, stray)", "pass"),),
    ),
    Mutation(
        "sent-for-nothing",
        "messages that found nothing to run are sent again",
        "ojs_aws.services.jobs.fetch.claim_round:UnusedMessages.give_back",
        (
            (
                "self.job_messages.discard(self.queue, stray)",
                (
                    "self.job_messages.send(self.queue, [(e.message, 0) for e in messages], "
                    "self.now); self.job_messages.discard(self.queue, stray)"
                ),
            ),
        ),
    ),
    Mutation(
        "left-to-the-sweep",
        "a job that is available gets no message",
        "ojs_aws.services.stored_jobs.messages:JobMessages._delay",
        (
            (
                "if job.state is JobState.AVAILABLE:\n        return 0",
                "if job.state is JobState.AVAILABLE:\n        return None",
            ),
        ),
    ),
    Mutation(
        "no-cover",
        "the sweep sends no message again for ready jobs",
        "ojs_aws.services.upkeep.message_resend:MessageResend.__call__",
        (("if not late or head.is_paused:", "if True:"),),
    ),
    Mutation(
        "delayed-uncounted",
        "the sweep does not count delayed messages",
        "ojs_aws.adapters.sqs:MessageQueue.backlog",
        (("Backlog(visible, hidden, delayed)", "Backlog(visible, hidden, 0)"),),
    ),
    Mutation(
        "sent-each-minute",
        "the sweep sends a message for the same job each minute",
        "ojs_aws.services.upkeep.message_resend:MessageResend._not_sent_lately",
        (("if row.id not in sent or sent[row.id].until <= now", ""),),
    ),
    Mutation(
        "logged-before",
        "the stream's consumer notes events as published before it publishes them",
        "ojs_aws.transport.events.stream_effects:Publication._append",
        (
            (
                "self.backend.events.append(",
                (
                    "self.memory.logged.update(event.id for event in missing)\n"
                    "    self.backend.events.append("
                ),
            ),
        ),
    ),
    Mutation(
        "failures-unpublished",
        "the stream's consumer does not say what must come again",
        "ojs_aws.transport.events.stream:StreamConsumer.handle",
        (("[] if first is None else", "[] if True else"),),
    ),
    Mutation(
        "occurrence-twice",
        "a cron job enqueues before it has claimed the occurrence",
        "ojs_aws.services.cron.scheduler:CronScheduler.fire",
        (
            (
                "self.entries.save(entry, claimed)",
                "self._enqueue(claimed); self.entries.save(entry, claimed)",
            ),
        ),
    ),
    Mutation(
        "batch-in-part",
        "a batch is stored without its last job",
        "ojs_aws.adapters.dynamodb.jobs.inserts:JobInserts.insert_all",
        (("new_items(jobs, ahead)", "new_items(jobs[: max(1, len(jobs) - 1)], ahead)"),),
    ),
    Mutation(
        "batch-left-behind",
        "the sweep does not finish batches whose processes died",
        "ojs_aws.services.batches.roll_forward:RollForward.tick",
        (("for batch in self.batches.open():", "for batch in ():"),),
    ),
    Mutation(
        "workflow-forgotten",
        "the stream's consumer does not try a workflow again that it could not move on",
        "ojs_aws.services.workflows.stream_stage:follow",
        (
            (
                "failed.update(dict.fromkeys((number for number, _ in group), problem))",
                "del problem",
            ),
        ),
    ),
    Mutation(
        "bound-forgotten",
        "a bounded queue takes jobs without counting them first",
        "ojs_aws.services.queues.backpressure:Backpressure._take",
        (("self.depths().take(queue, count, bound)", "self.depths().add(queue, 0) or 0"),),
    ),
    Mutation(
        "full-for-ever",
        "places that a dead process took are not counted again",
        "ojs_aws.services.queues.counters:DepthRecount.recount",
        (("depths.correct(queue, counted, now)", "True"),),
    ),
    Mutation(
        "counted-twice",
        "totals are corrected by changes that the stream's consumer has yet to count",
        "ojs_aws.services.upkeep.totals_recount:TotalsRecount._count",
        (("if changes and (old is None or not old.is_same(new)):", "if False:"),),
    ),
    Mutation(
        "full-for-the-repeated",
        "a push that is repeated needs a place a second time",
        "ojs_aws.services.jobs.new_jobs:NewJobs._capacity",
        (("if not self.is_there(records):", "if True:"),),
    ),
    Mutation(
        "pause-ignored",
        "FETCH does not look whether the queue is paused",
        "ojs_aws.adapters.dynamodb.jobs.lists:Lists.head",
        (("PAUSED in marks", "False"),),
    ),
    Mutation(
        "head-backwards",
        "FETCH reads the ready list from its end",
        "ojs_aws.adapters.dynamodb.jobs.lists:Lists.head",
        (("JobList.READY, shard), limit)", "JobList.READY, shard), limit, backwards=True)"),),
    ),
    Mutation(
        "sequence-backwards",
        "the last blocked job of a sequence gets the turn",
        "ojs_aws.adapters.dynamodb.sequences:Sequences.look",
        (
            (
                'found = [*islice(self.store.items("#pk = :pk", values, **options), most + 1)]',
                'found = [*self.store.items("#pk = :pk", values, **options)][::-1]',
            ),
        ),
    ),
    Mutation(
        "throttle-ignored",
        "a throttle lets each job begin",
        "ojs_aws.domain.limits:take",
        (("bucket.next_at is not None and now < bucket.next_at", "False"),),
    ),
    Mutation(
        "checkpoint-lost",
        "a checkpoint is not written",
        "ojs_aws.domain.jobs.held_job:save_checkpoint",
        (("checkpoint=saved, checkpoints", "checkpoints"),),
    ),
    Mutation(
        "together-by-any-clock",
        "jobs are changed together by the clock of whoever does it",
        "ojs_aws.services.bulk.changes:BulkChanges._decided",
        (("max(now, deadlines.last_change(job))", "now"),),
    ),
    Mutation(
        "completed-unlisted",
        "completed jobs that could not be listed are not listed later",
        "ojs_aws.transport.events.stream_effects:Consequences.list_completed",
        (("trouble = trouble_of(problem)", "return"),),
    ),
    Mutation(
        "deleted-alive",
        "a bulk deletion takes jobs in any state",
        "ojs_aws.services.bulk:BulkEngine._change",
        (("require_any(settled, action, states)", "pass"),),
    ),
    Mutation(
        "settled-late",
        "a settler completes a job whatever delivery its outcome is about",
        "ojs_aws.worker.delivery.settle:Settler._complete",
        ((", which=record.which", ""),),
    ),
    Mutation(
        "failed-late",
        "a settler fails a job whatever delivery its outcome is about",
        "ojs_aws.worker.delivery.settle:Settler._fail",
        ((", which=record.which", ""),),
    ),
    Mutation(
        "suspended-tried",
        "a job is tried at a binding that somebody suspended",
        "ojs_aws.domain.bindings:Suspension.may_try",
        (("not self.is_lasting and ", ""),),
    ),
    Mutation(
        "invoked-twice",
        "a dispatcher invokes a function twice for a job",
        "ojs_aws.worker.delivery.dispatch:_Round._begin",
        (("        begin()", "        [begin() for _ in '12']"),),
    ),
    Mutation(
        "task-stopped",
        "the sweep stops tasks whose attempts still run",
        "ojs_aws.worker.delivery.task_sweep:TaskSweep._keep_or_stop",
        (
            ("if job is not None and task.attempt.which.is_running(job):", "if False:"),
            ("if _is_in_vain(job, now):", "if True:"),
        ),
    ),
    Mutation(
        "binding-unbounded",
        "a dispatcher claims jobs without a look at the bound of their binding",
        "ojs_aws.domain.bindings:limits_of",
        (("if all(each.config.max_concurrency is None for each in found):", "if True:"),),
    ),
    Mutation(
        "final-error-retried",
        "a settler does not look at the errors that are final by the config of a binding",
        "ojs_aws.worker.delivery.settle:finally_failed",
        (('{**error, "retryable": False} if is_final else error', "error"),),
    ),
    Mutation(
        "deadline-without-timeout",
        "the deadline of an event does not know the timeout of the binding",
        "ojs_aws.worker.delivery.inputs:event_of",
        (("if config.timeout_ms is not None and record.started_at is not None:", "if False:"),),
    ),
    Mutation(
        "overdue-task-kept",
        "the sweep keeps tasks that have had their time",
        "ojs_aws.worker.delivery.task_sweep:TaskSweep._keep_or_stop",
        (("if task.is_overdue(now):", "if False:"),),
    ),
    Mutation(
        "task-overdue-at-once",
        "each task with a timeout has had its time",
        "ojs_aws.domain.bindings.tasks:Task.is_overdue",
        (("return now >= self.started_at + longest", "return True"),),
    ),
    Mutation(
        "task-lost-counted",
        "a job whose task AWS took away has failed",
        "ojs_aws.worker.delivery.task_settle:TaskSettler._report",
        (("elif end.is_given_back:", "elif False:"),),
    ),
)
