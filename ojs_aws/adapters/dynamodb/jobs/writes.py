"""Sends changes of jobs so that repeated tries take effect once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.adapters.dynamodb.conditions import CONDITION_CODE, ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.table import Action, InTable, any_failed, item_key, update_part
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.conflicts import BucketTakenError, StaleJobError
from ojs_aws.domain.job import JobRecord


@dataclass(frozen=True, slots=True)
class JobWrites(InTable):
    """Sends updates of jobs' items.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def send(self, job_id: str, update: Update, returning: Any, token: str = "") -> Item:
        """Send an update; if it finds its own token, it had already taken effect.

        :param token: from :attr:`token`; empty for a new one.
        :returns: the item that was asked for; after a lost answer, the item as it is now.
        """
        own = string(token or self.token())
        update.set(n.TOKEN, own)
        try:
            with conditional("UpdateItem"):  # as straight as can be: each job takes this way
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=job_key(job_id),
                    ReturnValues=returning,
                    **update.arguments(),
                )
        except ConditionFailedError as failed:
            if failed.is_own({n.TOKEN: own}):
                return failed.item
            raise StaleJobError(from_item(failed.item) if failed.item else None) from None
        return answer.get("Attributes", {})

    def send_with(
        self, job_id: str, update: Update, parts: Sequence[Action], token: str = ""
    ) -> JobRecord | None:
        """Send an update in a transaction with changes of buckets.

        :param token: from :attr:`token`; empty for a new one.
        :returns: the job as it is now, when the transaction had taken effect before; else None.
        :raises BucketTakenError: a bucket is no longer what it was.
        """
        token = token or self.token()
        update.set(n.TOKEN, string(token))
        part = update_part(self.table, job_key(job_id), update)
        reasons = self.transact_write_items([part, *parts], any_failed)
        if not reasons:
            return None
        code, failed = reasons[0]
        if code != CONDITION_CODE:
            raise BucketTakenError
        if failed and read_string(failed, n.TOKEN) == token:
            return from_item(failed)
        raise StaleJobError(from_item(failed) if failed else None)


def job_key(job_id: str) -> Item:
    """Return the key of a job's item."""
    return item_key(n.job_pk(job_id), n.JOB_SK)
