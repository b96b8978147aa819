"""Makes the adapters of a deployment, each when a service first asks for it.

So that a function loads what its own routes need and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.adapters.dynamodb.jobs.store import DynamoJobStore
from ojs_aws.bootstrap.clients import AwsClients
from ojs_aws.bootstrap.machine import write_token
from ojs_aws.config import Settings
from ojs_aws.topology import cron_queue_name, sqs_queue_name

if TYPE_CHECKING:
    from ojs_aws import ports


@dataclass(frozen=True, slots=True)
class Adapters:
    """Holds the adapters of one deployment."""

    settings: Settings
    aws: AwsClients
    store: DynamoJobStore

    def workers(self) -> ports.WorkerRegistry:
        """Return the registry of workers."""
        from ojs_aws.adapters.dynamodb.workers import DynamoWorkerRegistry

        return DynamoWorkerRegistry(self.aws.dynamodb, self.settings.table)

    def marks(self) -> ports.Marks:
        """Return the store of how far sweeps have got."""
        from ojs_aws.adapters.dynamodb.watermarks import DynamoWatermarks

        return DynamoWatermarks(self.aws.dynamodb, self.settings.table)

    def events(self) -> ports.EventLog:
        """Return the event log."""
        from ojs_aws.adapters.dynamodb.events.log import DynamoEventLog

        return DynamoEventLog(
            self.aws.dynamodb, self.settings.table, self.settings.event_retention_s, write_token
        )

    def announce(self) -> ports.Announce:
        """Return the function that publishes to the bus."""
        from ojs_aws.adapters.events import EventBus

        return EventBus(self.aws.events, self.settings.event_bus, self.settings.event_bus_types)

    def cron(self) -> ports.CronEntries:
        """Return the store of cron jobs."""
        from ojs_aws.adapters.dynamodb.cron import DynamoCronEntries

        return DynamoCronEntries(self.aws.dynamodb, self.settings.table, write_token)

    def alarms(self) -> ports.CronAlarms:
        """Return the alarms that wake the tick for cron jobs."""
        from ojs_aws.adapters.sqs.messages import SqsCronWakeUps

        url = self.settings.queue_url_prefix + cron_queue_name(self.settings.queue_prefix)
        return SqsCronWakeUps(self.aws.sqs, url)

    def schemas(self) -> ports.Schemas:
        """Return the store of schemas."""
        from ojs_aws.adapters.dynamodb.schemas import DynamoSchemas

        return DynamoSchemas(self.aws.dynamodb, self.settings.table, write_token)

    def unique(self) -> ports.UniqueJobs:
        """Return the store of unique jobs and their locks."""
        from ojs_aws.adapters.dynamodb.unique import DynamoUniqueJobs

        return DynamoUniqueJobs(self.store)

    def workflows(self) -> ports.Workflows:
        """Return the store of workflows."""
        from ojs_aws.adapters.dynamodb.workflows.store import DynamoWorkflows

        kept_s = self.settings.completed_retention_s
        return DynamoWorkflows(
            self.aws.dynamodb, self.settings.table, self.store, write_token, kept_s
        )

    def limits(self) -> ports.Limits:
        """Return the store of limits' buckets."""
        from ojs_aws.adapters.dynamodb.limits import DynamoLimits

        return DynamoLimits(self.aws.dynamodb, self.settings.table)

    def client_buckets(self) -> ports.ClientBuckets:
        """Return the token buckets of API clients."""
        from ojs_aws.adapters.dynamodb.access import DynamoClientBuckets

        return DynamoClientBuckets(self.aws.dynamodb, self.settings.table)

    def batches(self) -> ports.Batches:
        """Return the logs of large batches."""
        from ojs_aws.adapters.dynamodb.batches import DynamoBatches

        return DynamoBatches(
            self.aws.dynamodb, self.settings.table, self.store.retention, write_token
        )

    def bulk(self) -> ports.BulkRequests:
        """Return the store of bulk operations."""
        from ojs_aws.adapters.dynamodb.bulk import DynamoBulkRequests

        return DynamoBulkRequests(self.aws.dynamodb, self.settings.table)

    def settings_book(self) -> ports.SettingsBook:
        """Return the store of queues' settings."""
        from ojs_aws.adapters.dynamodb.queues.settings import DynamoSettings

        return DynamoSettings(self.aws.dynamodb, self.settings.table, write_token)

    def triggers(self) -> ports.Triggers:
        """Return the switch of Lambda workers' triggers."""
        from ojs_aws.adapters.sqs.messages import queue_arn
        from ojs_aws.adapters.sqs.triggers import LambdaTriggers
        from ojs_aws.services.backend.ports import NoTriggers

        if self.aws.functions is None:
            return NoTriggers()

        def arn_of(queue: str) -> str:
            name = sqs_queue_name(self.settings.queue_prefix, queue)
            return queue_arn(self.aws.sqs, self.settings.queue_url_prefix, name)

        return LambdaTriggers(self.aws.functions(), arn_of)

    def depths(self) -> ports.Depths:
        """Return the counters of bounded queues."""
        from ojs_aws.adapters.dynamodb.queues.depths import DynamoDepths

        return DynamoDepths(self.aws.dynamodb, self.settings.table)

    def tallies(self) -> ports.Tallies:
        """Return the counters of what queues did."""
        from ojs_aws.adapters.dynamodb.queues.tallies import DynamoTallies

        return DynamoTallies(self.aws.dynamodb, self.settings.table)

    def failure_groups(self) -> ports.FailureGroups:
        """Return the store of failures that were grouped by error."""
        from ojs_aws.adapters.dynamodb.failure_groups import DynamoFailureGroups

        return DynamoFailureGroups(self.aws.dynamodb, self.settings.table)

    def api_keys(self) -> ports.ApiKeys:
        """Return the store of API keys, which only one function may use."""
        from ojs_aws.adapters.dynamodb.access import DynamoApiKeys

        return DynamoApiKeys(self.aws.dynamodb, self.settings.table)

    def pressures(self) -> ports.Pressures:
        """Return the store of how full queues are."""
        from ojs_aws.adapters.dynamodb.queues.depths import DynamoPressures

        return DynamoPressures(self.aws.dynamodb, self.settings.table)
