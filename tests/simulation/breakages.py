"""What is broken on purpose: in the services, and in the model's promises that they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STORE: Final = "tests.model.jobs:MemoryStore"


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
        "the claim's condition on the state is dropped",
        f"{STORE}.claim",
        (
            ("current.state is not JobState.AVAILABLE", "current.state.is_terminal"),
            (
                "lifecycle.claim(current,",
                "lifecycle.claim(replace(current, state=JobState.AVAILABLE),",
            ),
        ),
    ),
    Mutation(
        "ack-for-others",
        "ACK's condition on the holder is dropped",
        f"{STORE}.acknowledge",
        (('or (worker is not None and held.worker_id not in {"", worker})', ""),),
    ),
    Mutation(
        "ack-too-late",
        "ACK's condition on the end of the reservation is dropped",
        f"{STORE}.acknowledge",
        (("or held.due_at <= now", ""),),
    ),
    Mutation(
        "ack-by-any-clock",
        "ACK's condition on the start is dropped",
        f"{STORE}.acknowledge",
        (("or (current.started_at or 0) > now", ""),),
    ),
    Mutation(
        "lost-update",
        "the condition on the version is dropped",
        f"{STORE}.save",
        (("not self.is_as_read(before)", "before.id not in self.jobs"),),
    ),
    Mutation(
        "place-kept",
        "the end of an attempt gives no place in a bucket back",
        f"{STORE}.release",
        (("for key in held - kept:", "for key in ():"),),
    ),
    Mutation(
        "two-under-one-key",
        "the condition on the lock of a uniqueness key is dropped",
        "tests.model.unique:MemoryUniqueJobs.admit",
        (("found is not None and found != each.seen", "False"),),
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
        "ojs_aws.domain.jobs.lifecycle:claim",
        (("attempt=job.attempt + 1", "attempt=max(job.attempt, 1)"),),
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
        "BEAT that reads no job does not look who holds it",
        "ojs_aws.domain.jobs.held_job:extended",
        (
            ('held.worker_id not in {"", asked.worker_id}', "False"),
            (" or not asked.which.is_running(job)", ""),
        ),
    ),
    Mutation(
        "beat-unread-shortens",
        "BEAT that reads no job may end its reservation earlier",
        "ojs_aws.domain.jobs.held_job:_may_end",
        (("asked.now < ends < wanted or is_same", "asked.now < ends"),),
    ),
    Mutation(
        "beat-is-a-pace",
        "a worker's first heartbeat counts as if it had a pace",
        "ojs_aws.services.workers.liveness:has_pace",
        (("or worker.seen_before is not None", "or True"),),
    ),
    Mutation(
        "late-reports",
        "a report counts for whichever attempt is running",
        "ojs_aws.domain.jobs.attempts:AttemptRef.is_running",
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
        "ojs_aws.services.jobs.fetch.unused_messages:UnusedMessages.give_back",
        (("self.job_messages.discard(self.queue, stray)", "pass"),),
    ),
    Mutation(
        "sent-for-nothing",
        "messages that found nothing to run are sent again",
        "ojs_aws.services.jobs.fetch.unused_messages:UnusedMessages.give_back",
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
        "ojs_aws.services.jobs.messages:JobMessages._delay",
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
        "tests.model.messages:MemoryQueue.backlog",
        (("len(waiting) - hidden", "0"),),
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
        "ojs_aws.transport.events.stream_publication:Publication._append",
        (
            (
                "self._backend.events.append(",
                (
                    "self._memory.logged.update(event.id for event in missing)\n"
                    "    self._backend.events.append("
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
                "self._enqueued(claimed); self.entries.save(entry, claimed)",
            ),
        ),
    ),
    Mutation(
        "batch-in-part",
        "a batch is stored without its last job",
        f"{STORE}.insert_all",
        (("for job in jobs:", "for job in jobs[: max(1, len(jobs) - 1)]:"),),
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
        "ojs_aws.services.queues.depth_recount:DepthRecount.recount",
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
        "ojs_aws.services.jobs.new_jobs:NewJobs._places",
        (("if not self._is_there(records):", "if True:"),),
    ),
    Mutation(
        "pause-ignored",
        "FETCH does not look whether the queue is paused",
        "tests.model.jobs:MemoryStore.head",
        (("queue in self.paused", "False"),),
    ),
    Mutation(
        "throttle-ignored",
        "a throttle lets each job begin",
        "ojs_aws.domain.limits.rules:take",
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
        (("failed.setdefault(change.number, trouble_of(problem))", "pass"),),
    ),
    Mutation(
        "deleted-alive",
        "a bulk deletion takes jobs in any state",
        "ojs_aws.services.bulk.engine:BulkEngine._change",
        (("require_any(settled, action, states)", "pass"),),
    ),
)
