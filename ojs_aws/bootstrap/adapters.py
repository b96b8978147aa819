"""Makes the adapters of a deployment.

Each adapter is made when a service first asks for it, so that a function loads what its own routes
need and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.bootstrap.clients import AwsClients, write_token
from ojs_aws.config import Settings
from ojs_aws.topology import cron_queue_name, sqs_queue_name

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ApiKeys, ClientBuckets
    from ojs_aws.adapters.dynamodb.batches import Batches
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.adapters.dynamodb.cron import CronEntries
    from ojs_aws.adapters.dynamodb.events.log import EventLog
    from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups
    from ojs_aws.adapters.dynamodb.fairness import FairKeys
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures
    from ojs_aws.adapters.dynamodb.queues.line_marks import LineMarks
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.adapters.dynamodb.schemas import Schemas
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs
    from ojs_aws.adapters.dynamodb.watermarks import Watermarks
    from ojs_aws.adapters.dynamodb.workers import WorkerPools, WorkerRegistry
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.adapters.sqs import CronWakeUps
    from ojs_aws.domain.events import Announce
    from ojs_aws.domain.queues import Triggers


@dataclass(frozen=True, slots=True)
class Adapters:
    """Holds the adapters of one deployment."""

    settings: Settings
    aws: AwsClients
    store: JobStore

    def workers(self) -> WorkerRegistry:
        """Return the registry of workers."""
        from ojs_aws.adapters.dynamodb.workers import WorkerRegistry

        return WorkerRegistry(self.aws.dynamodb, self.settings.table)

    def pools(self) -> WorkerPools:
        """Return the store of worker pools."""
        from ojs_aws.adapters.dynamodb.workers import WorkerPools

        return WorkerPools(self.aws.dynamodb, self.settings.table)

    def watermarks(self) -> Watermarks:
        """Return the store of how far sweeps have got."""
        from ojs_aws.adapters.dynamodb.watermarks import Watermarks

        return Watermarks(self.aws.dynamodb, self.settings.table)

    def events(self) -> EventLog:
        """Return the event log."""
        from ojs_aws.adapters.dynamodb.events.log import EventLog

        settings = self.settings
        return EventLog(
            self.aws.dynamodb,
            settings.table,
            settings.event_retention_s,
            write_token,
            by_columns=bool(settings.wide_queues),
        )

    def announce(self) -> Announce:
        """Return the function that publishes to the bus."""
        from ojs_aws.adapters.events import EventBus

        settings = self.settings
        types, prefix = settings.event_bus_types, settings.event_bus_type_prefix
        return EventBus(self.aws.events, settings.event_bus, types, prefix)

    def cron(self) -> CronEntries:
        """Return the store of cron jobs."""
        from ojs_aws.adapters.dynamodb.cron import CronEntries

        return CronEntries(self.aws.dynamodb, self.settings.table, write_token)

    def wake_ups(self) -> CronWakeUps:
        """Return the alarms that wake the tick for cron jobs."""
        from ojs_aws.adapters.sqs import CronWakeUps

        url = self.settings.queue_url_prefix + cron_queue_name(self.settings.queue_prefix)
        return CronWakeUps(self.aws.sqs, url)

    def schemas(self) -> Schemas:
        """Return the store of schemas."""
        from ojs_aws.adapters.dynamodb.schemas import Schemas

        return Schemas(self.aws.dynamodb, self.settings.table, write_token)

    def unique(self) -> UniqueJobs:
        """Return the store of unique jobs and their locks."""
        from ojs_aws.adapters.dynamodb.unique import UniqueJobs

        return UniqueJobs(self.store)

    def fair_keys(self) -> FairKeys:
        """Return the store of fairness keys."""
        from ojs_aws.adapters.dynamodb.fairness import FairKeys

        return FairKeys(self.store.client, self.store.table)

    def line_marks(self) -> LineMarks:
        """Return what copies the marks of wide queues into their lines."""
        from ojs_aws.adapters.dynamodb.queues.line_marks import LineMarks

        lines = dict(self.settings.wide_queues)
        return LineMarks(self.store.client, self.store.table, lines)

    def sequences(self) -> Sequences:
        """Return the store of sequences."""
        from ojs_aws.adapters.dynamodb.sequences import Sequences

        return Sequences(self.store)

    def workflows(self) -> Workflows:
        """Return the store of workflows."""
        from ojs_aws.adapters.dynamodb.workflows.store import Workflows

        kept_s = self.settings.completed_retention_s
        return Workflows(self.aws.dynamodb, self.settings.table, self.store, write_token, kept_s)

    def limits(self) -> Limits:
        """Return the store of limits' buckets."""
        from ojs_aws.adapters.dynamodb.limits import Limits

        return Limits(self.aws.dynamodb, self.settings.table)

    def client_buckets(self) -> ClientBuckets:
        """Return the token buckets of API clients."""
        from ojs_aws.adapters.dynamodb.access import ClientBuckets

        return ClientBuckets(self.aws.dynamodb, self.settings.table)

    def batches(self) -> Batches:
        """Return the logs of large batches."""
        from ojs_aws.adapters.dynamodb.batches import Batches

        return Batches(self.aws.dynamodb, self.settings.table, self.store.retention, write_token)

    def bulk(self) -> BulkRequests:
        """Return the store of bulk operations."""
        from ojs_aws.adapters.dynamodb.bulk import BulkRequests

        return BulkRequests(self.aws.dynamodb, self.settings.table)

    def queue_settings(self) -> QueueSettingsStore:
        """Return the store of queues' settings."""
        from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore

        return QueueSettingsStore(self.aws.dynamodb, self.settings.table, write_token)

    def queue_bindings(self) -> QueueBindings:
        """Return the store of queues' bindings to functions."""
        from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings

        return QueueBindings(self.aws.dynamodb, self.settings.table)

    def triggers(self) -> Triggers:
        """Return the switch of Lambda workers' triggers."""
        from ojs_aws.adapters.functions import LambdaTriggers
        from ojs_aws.adapters.sqs import queue_arn
        from ojs_aws.services.backend.foundation import NoTriggers

        if self.aws.functions is None:
            return NoTriggers()

        def arn_of(queue: str) -> str:
            name = sqs_queue_name(self.settings.queue_prefix, queue)
            return queue_arn(self.aws.sqs, self.settings.queue_url_prefix, name)

        return LambdaTriggers(self.aws.functions(), arn_of)

    def depths(self) -> Depths:
        """Return the counters of bounded queues."""
        from ojs_aws.adapters.dynamodb.queues.depths import Depths

        return Depths(self.aws.dynamodb, self.settings.table, dict(self.settings.wide_queues))

    def tallies(self) -> Tallies:
        """Return the counters of what queues did."""
        from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

        return Tallies(self.aws.dynamodb, self.settings.table)

    def tenant_tallies(self) -> Tallies:
        """Return the counters of what tenants did."""
        from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
        from ojs_aws.adapters.dynamodb.queues.totals import TENANTS

        return Tallies(self.aws.dynamodb, self.settings.table, TENANTS)

    def failure_groups(self) -> FailureGroups:
        """Return the store of failures that were grouped by error."""
        from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups

        return FailureGroups(self.aws.dynamodb, self.settings.table)

    def api_keys(self) -> ApiKeys:
        """Return the store of API keys, which only one function may use."""
        from ojs_aws.adapters.dynamodb.access import ApiKeys

        return ApiKeys(self.aws.dynamodb, self.settings.table)

    def pressures(self) -> Pressures:
        """Return the store of how full queues are."""
        from ojs_aws.adapters.dynamodb.queues.depths import Pressures

        return Pressures(self.aws.dynamodb, self.settings.table)
