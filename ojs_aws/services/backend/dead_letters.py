"""Makes the services of dead letters."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.bulk import BulkServices
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.queues import QueueServices
    from ojs_aws.services.dead_letters.bulk import DeadLetterBulk
    from ojs_aws.services.dead_letters.search import DeadLetterSearch
    from ojs_aws.services.dead_letters.service import DeadLetters
    from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep


class DeadLetterServices:
    """Holds dead letters, one or many, and the rules that replay and prune them."""

    def __init__(self, shared: Foundation, queues: QueueServices, bulk: BulkServices) -> None:
        """Make nothing yet."""
        self._shared = shared
        self._queues = queues
        self._bulk = bulk

    @property
    def _search(self) -> DeadLetterSearch:
        from ojs_aws.services.dead_letters.search import DeadLetterSearch
        from ojs_aws.services.jobs.job_lists import ListCounts

        stores = self._shared.stores
        counts = ListCounts(stores.store, stores.tallies)
        return DeadLetterSearch(stores.store, stores.queues, counts)

    @cached_property
    def service(self) -> DeadLetters:
        """Return the service of dead letters."""
        from ojs_aws.services.dead_letters.service import DeadLetters

        shared = self._shared
        return DeadLetters(
            shared.stores.store,
            self._search,
            shared.changer,
            shared.job_messages,
            self._queues.rules,
        )

    @cached_property
    def bulk(self) -> DeadLetterBulk:
        """Return the service of bulk operations on dead letters."""
        from ojs_aws.services.dead_letters.bulk import DeadLetterBulk

        return DeadLetterBulk(self._bulk.engine, self._search)

    @cached_property
    def upkeep(self) -> DeadLetterUpkeep:
        """Return the service that replays and prunes dead letters by rule.

        :raises InvalidRequestError: a replay rule of the settings cannot be read.
        """
        from ojs_aws.services.dead_letters.replay_rules import read_replay_rules
        from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep

        shared = self._shared
        return DeadLetterUpkeep(
            queues=shared.stores.queues,
            watermarks=shared.stores.watermarks,
            changer=shared.changer,
            job_messages=shared.job_messages,
            max_count=shared.settings.dead_letter_max_count,
            rules=read_replay_rules(shared.settings.dead_letter_replay),
        )
