"""Jobs in DynamoDB: every write one conditional write, or one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.ahead import Ahead, ahead_of
from ojs_aws.adapters.dynamodb.blobs import ITEM, Blobs
from ojs_aws.adapters.dynamodb.codec import (
    Retention,
    check_new,
    from_item,
    to_item,
)
from ojs_aws.adapters.dynamodb.conditions import (
    ConditionFailedError,
    ItemsTakenError,
    conditional,
    taken_items,
)
from ojs_aws.adapters.dynamodb.job_writes import JobWrites, job_key
from ojs_aws.adapters.dynamodb.limits import bucket_key, read_bucket, releasing, taking
from ojs_aws.adapters.dynamodb.lists import Lists
from ojs_aws.adapters.dynamodb.transitions import claiming, completing
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_string, string, unpacked
from ojs_aws.adapters.errors import translated
from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.domain.job import (
    Document,
    JobRecord,
    JobState,
    Reservation,
    StoredElsewhere,
)
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    AlreadyStoredError,
    Between,
    Count,
    Head,
    JobList,
    ListedJob,
    Page,
    StaleJobError,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_IS_NEW: Final = "attribute_not_exists(#pk)"


@dataclass(frozen=True, slots=True)
class DynamoJobStore:
    """The port JobStore over one table."""

    client: DynamoDBClient
    table: str
    blobs: Blobs
    lists: Lists
    retention: Retention
    writes: JobWrites

    # ------------------------------------------------------------------ new jobs
    def insert(self, job: JobRecord) -> None:
        """One put; a transaction of two when the document has an item of its own."""
        with self.ahead() as ahead:
            placed, text = self.blobs.placed(job.document, ahead.life(job))
            item = to_item(replace(job, document=placed), self.retention)
            check_new([item])
            if isinstance(placed, StoredElsewhere) and text:
                if placed.place == ITEM:
                    self._insert_items([item], [self.blobs.item(job.id, placed, text)])
                    return
                ahead.keep(job, placed, text)
            ahead.is_sent = True
            self._insert_item(item)

    def _insert_item(self, item: Item) -> None:
        item[n.TOKEN] = string(self.writes.token())
        try:
            with conditional("PutItem"):
                self.client.put_item(
                    TableName=self.table,
                    Item=item,
                    ConditionExpression=_IS_NEW,
                    ExpressionAttributeNames={"#pk": n.PK},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailedError as failed:
            if not failed.is_own(item):
                raise AlreadyStoredError({0: from_item(failed.item)}) from None

    def ahead(self) -> AbstractContextManager[Ahead]:
        """What a write of new jobs puts before it, and takes back when it is refused."""
        return ahead_of(Ahead(self.blobs, self.writes.token()), self.load_many)

    def insert_all(self, jobs: Sequence[JobRecord]) -> None:
        """One transaction; documents that do not fit inline are put before it."""
        with self.ahead() as ahead:
            items = self.new_items(jobs, ahead)
            ahead.is_sent = True
            self._insert_items(items, [])

    def new_items(self, jobs: Sequence[JobRecord], ahead: Ahead) -> list[Item]:
        """The items of new jobs, for a transaction; documents that do not fit them are put now."""
        placed = [self.blobs.placed(job.document, ahead.life(job)) for job in jobs]
        items = [
            to_item(replace(job, document=document), self.retention)
            for job, (document, _) in zip(jobs, placed, strict=True)
        ]
        check_new(items)
        for job, (document, text) in zip(jobs, placed, strict=True):
            if isinstance(document, StoredElsewhere) and text:
                ahead.keep(job, document, text)
        return items

    def _insert_items(self, items: Sequence[Item], blobs: Sequence[Item]) -> None:
        token = self.writes.token()
        for item in items:
            item[n.TOKEN] = string(token)
        puts = [
            {
                "Put": {
                    "TableName": self.table,
                    "Item": item,
                    "ConditionExpression": _IS_NEW,
                    "ExpressionAttributeNames": {"#pk": n.PK},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
            for item in items
        ]
        plain = [{"Put": {"TableName": self.table, "Item": blob}} for blob in blobs]
        actions: Any = [*puts, *plain]
        try:
            with translated("TransactWriteItems"):
                try:
                    self.client.transact_write_items(TransactItems=actions)
                except ClientError as problem:
                    taken = taken_items(problem, len(items))
                    if taken is None:
                        raise
                    raise ItemsTakenError(taken) from problem
        except ItemsTakenError as problem:
            if any(read_string(old, n.TOKEN) == token for old in problem.items.values()):
                # The transaction took effect, and its answer was lost. One item is enough to tell:
                # others may have been claimed since.
                return
            existing = {index: from_item(old) for index, old in problem.items.items()}
            raise AlreadyStoredError(existing) from None

    def check_new(self, jobs: Sequence[JobRecord]) -> None:
        """Weighs the items, one by one."""
        for job in jobs:
            placed, _ = self.blobs.placed(job.document, _life(job))
            check_new([to_item(replace(job, document=placed), self.retention)])

    # ------------------------------------------------------------------ reading
    def load(self, job_id: str) -> JobRecord | None:
        """One consistent read of the hot item."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=job_key(job_id), ConsistentRead=True
            )
        return from_item(answer["Item"]) if "Item" in answer else None

    def load_whole(self, job_id: str) -> JobRecord | None:
        """One consistent query of everything the job has in the table.

        Backwards, so that the hot item comes first: a page ends at a megabyte, and large results
        that were refused stay in the partition. A document beyond the page is read by itself.
        """
        with translated("Query"):
            answer = self.client.query(
                TableName=self.table,
                KeyConditionExpression="#pk = :pk",
                ExpressionAttributeNames={"#pk": n.PK},
                ExpressionAttributeValues={":pk": string(n.job_pk(job_id))},
                ConsistentRead=True,
                ScanIndexForward=False,
            )
        items = {read_string(item, n.SK): item for item in answer["Items"]}
        if n.JOB_SK not in items:
            return None
        job = from_item(items[n.JOB_SK])
        return self._filled(job, items)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """One batch read per hundred jobs; keys that were not processed are asked for again."""
        jobs: dict[str, JobRecord] = {}
        wanted = [job_key(job_id) for job_id in dict.fromkeys(job_ids)]
        while wanted:
            asked, wanted = wanted[:100], wanted[100:]
            with translated("BatchGetItem"):
                answer = self.client.batch_get_item(
                    RequestItems={self.table: {"Keys": asked, "ConsistentRead": True}}
                )
            responses: dict[str, list[Item]] = dict(answer["Responses"])
            for item in responses.get(self.table, []):
                job = from_item(item)
                jobs[job.id] = job
            unprocessed: dict[str, Any] = dict(answer.get("UnprocessedKeys", {}))
            wanted = [*unprocessed.get(self.table, {}).get("Keys", []), *wanted]
        return jobs

    def fill(self, job: JobRecord) -> JobRecord:
        """One read for each document that is kept elsewhere."""
        return self._filled(job, {})

    def _filled(self, job: JobRecord, items: dict[str, Item]) -> JobRecord:
        def text_of(document: Document) -> RawJson:
            if not isinstance(document, StoredElsewhere):
                return document
            item = items.get(n.blob_sk(document.digest))
            if item is not None:
                return RawJson(unpacked(item[n.DOCUMENT]))
            return self.blobs.get(job.id, document)

        if job.is_whole:
            return job
        saved = job.checkpoint
        return replace(
            job,
            document=text_of(job.document),
            result=None if job.result is None else text_of(job.result),
            checkpoint=None if saved is None else replace(saved, state=text_of(saved.state)),
        )

    # ------------------------------------------------------------------ transitions
    def save(self, before: JobRecord, after: JobRecord) -> None:
        """One update of what differs, if the version is still the one that was read.

        A transaction where the job gives places in buckets back.
        """
        update, places = self.change(before, after), sorted(places_left(before, after))
        if places:
            self.writes.send_with(before.id, update, [releasing(self.table, key) for key in places])
        else:
            self.writes.send(before.id, update, returning="NONE")

    def change(self, before: JobRecord, after: JobRecord) -> Update:
        """The update that makes one version of a job the next."""
        old, new = self._hot_item(before), self._hot_item(after, before.document)
        update = Update()
        for name, value in new.items():
            if old.get(name) != value:
                update.set(name, value)
        update.remove(*(name for name in old if name not in new))
        update.when(f"{update.name(n.VERSION)} = {update.value(number(before.version))}")
        return update

    def _hot_item(self, job: JobRecord, known: Document | None = None) -> Item:
        """The item of a job; a document that was filled in counts as the pointer it came from.

        :param known: the pointer, if it is known. No other large document is put by an update.
        """
        placed, _ = self.blobs.placed(job.document, _life(job))
        if isinstance(placed, StoredElsewhere) and isinstance(known, StoredElsewhere):
            placed = placed if placed is job.document else known
        result = None if job.result is None else self.blobs.placed(job.result)[0]
        saved = job.checkpoint
        if saved is not None:
            saved = replace(saved, state=self.blobs.placed(saved.state)[0])
        whole = replace(job, document=placed, result=result, checkpoint=saved)
        return to_item(whole, self.retention)

    def claim(
        self, queue: str, job_id: str, reservation: Reservation, now: Instant, place: str = ""
    ) -> JobRecord:
        """One update of an available, unexpired job, whatever its version."""
        update = claiming(queue, job_id, reservation, now)
        if place:
            update.when(f"{update.name(n.GSK)} = {update.value(string(place))}")
        return from_item(self.writes.send(job_id, update, returning="ALL_NEW"))

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, dict[str, Bucket]]:
        """One batch read."""
        wanted: list[Item] = [job_key(job_id), *map(bucket_key, keys)]
        with translated("BatchGetItem"):
            answer = self.client.batch_get_item(
                RequestItems={self.table: {"Keys": wanted, "ConsistentRead": True}}
            )
        if answer.get("UnprocessedKeys"):
            raise BackendUnavailableError("BatchGetItem was throttled.", hint="Repeat the request.")
        job, buckets = None, {key: Bucket(key=key) for key in keys}
        for item in answer["Responses"].get(self.table, []):
            if read_string(item, n.SK) == n.JOB_SK:
                job = from_item(item)
            else:
                bucket = read_bucket(item)
                buckets[bucket.key] = bucket
        return job, buckets

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """One transaction: the job, and a place in each bucket."""
        update = claiming(job.queue, job.id, reservation, now)
        update.when(f"{update.name(n.VERSION)} = {update.value(number(job.version))}")
        self.writes.send_with(
            job.id, update, [taking(self.table, *take, job.id, now) for take in takes]
        )
        return lifecycle.claim(job, reservation, now)

    def acknowledge(
        self, job_id: str, worker_id: str | None, result: Document | None, now: Instant
    ) -> JobRecord:
        """One update of an active job whose time is not over, whatever its version.

        A job that has places in buckets gives them back in the same transaction; that it has any
        is found out by the update, which is in vain then.
        """
        update = completing(worker_id, result, now, self.retention)
        update.when(f"attribute_not_exists({update.name(n.PLACES)})")
        try:
            return from_item(self.writes.send(job_id, update, returning="ALL_OLD"))
        except StaleJobError as stale:
            held = stale.current
            if held is None or not _places(held):
                raise
        update = completing(worker_id, result, now, self.retention)
        update.remove(n.PLACES)
        # Whoever takes the job over meanwhile changes the attempt; a heartbeat does not.
        update.when(f"{update.name(n.ATTEMPT)} = {update.value(number(held.attempt))}")
        parts = [releasing(self.table, key) for key in sorted(_places(held))]
        return self.writes.send_with(job_id, update, parts) or held

    def fits_inline(self, result: RawJson) -> bool:
        """Judged by its size once it is deflated."""
        return isinstance(self.blobs.placed(result)[0], str)

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """No call for a small result; a put of its own for a large one."""
        placed, text = self.blobs.placed(result)
        if isinstance(placed, StoredElsewhere) and text:
            self.blobs.keep(job_id, placed, text)
        return placed

    def delete(self, job: JobRecord) -> None:
        """One conditional delete, and one for each document kept elsewhere."""
        try:
            with conditional("DeleteItem"):
                self.client.delete_item(
                    TableName=self.table,
                    Key=job_key(job.id),
                    ConditionExpression="#v = :v",
                    ExpressionAttributeNames={"#v": n.VERSION},
                    ExpressionAttributeValues={":v": number(job.version)},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ConditionFailedError as failed:
            if failed.item:
                raise StaleJobError(from_item(failed.item)) from None
        self.forget_documents(job)

    def forget_documents(self, job: JobRecord) -> None:
        """One delete for each document kept elsewhere."""
        for document in (job.document, job.result, job.checkpoint and job.checkpoint.state):
            if isinstance(document, StoredElsewhere):
                self.blobs.delete(job.id, document)

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """No call for a small one; a put of its own, under a name of its own, for a large one."""
        placed, text = self.blobs.placed(state, self.writes.token())
        if isinstance(placed, StoredElsewhere) and text:
            self.blobs.keep(job_id, placed, text)
        return placed

    def forget_document(self, job_id: str, document: Document) -> None:
        """One delete, where it is kept elsewhere."""
        if isinstance(document, StoredElsewhere):
            self.blobs.delete(job_id, document)

    # ------------------------------------------------------------------ lists
    def head(self, queue: str, limit: int) -> Head:
        """One query of the index."""
        return self.lists.head(queue, limit)

    def oldest_ready(self, queue: str) -> Instant | None:
        """A query of one row for each priority, eight at most."""
        return self.lists.oldest_ready(queue)

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """One query of the index."""
        return self.lists.due(queue, since, until, limit, cursor=cursor)

    def listed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        *,
        cursor: str = "",
        newest_first: bool = True,
        between: Between | None = None,
    ) -> Page:
        """One query of the index."""
        return self.lists.listed(
            queue, name, limit, cursor=cursor, newest_first=newest_first, between=between
        )

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """No call."""
        del name
        return self.lists.place_of(row)

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """One query of the index."""
        return self.lists.count(queue, name, between)

    def count_priorities(self, queue: str) -> tuple[dict[int, int], bool]:
        """One query of the index."""
        return self.lists.count_priorities(queue)

    def count_waiting(self, queue: str) -> dict[JobState, Count]:
        """One query of the index."""
        return self.lists.count_waiting(queue)


def _places(job: JobRecord) -> frozenset[str]:
    """Keys of the buckets in which a job has a place."""
    return frozenset(job.reservation.places) if job.reservation else frozenset()


def places_left(before: JobRecord, after: JobRecord) -> frozenset[str]:
    """Keys of the buckets in which a job gives its place back."""
    return _places(before) - _places(after)


def _life(job: JobRecord) -> str:
    """Gives a document the same name, though not its own, wherever it is filled in."""
    return str(job.created_at)
