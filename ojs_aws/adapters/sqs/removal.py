"""Deletes the SQS queues that were made at their first use: no stack's template knows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import translated
from ojs_aws.adapters.sqs.messages import MISSING
from ojs_aws.topology import OWNER_TAG, any_queue_name

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class QueuesOfFirstUse:
    """Finds queues by the name and the tag that they have from the call that made them.

    The tag decides: queues of the template have none, and with the old separator the names of
    another deployment's queues may begin alike.
    """

    client: SQSClient
    prefix: str

    def delete(self) -> Iterator[int]:
        """Delete them, and yield 1 after each one; make two calls for each, one for the others.

        A queue that is already being deleted may be listed for another minute, and is left out.
        """
        for url in self._named():
            if self._is_own(url):
                with translated("DeleteQueue"), _or_gone():
                    self.client.delete_queue(QueueUrl=url)
                yield 1

    def _is_own(self, url: str) -> bool:
        tags: Mapping[str, str] = {}
        with translated("ListQueueTags"), _or_gone():
            tags = self.client.list_queue_tags(QueueUrl=url).get("Tags", {})
        return tags.get(OWNER_TAG) == self.prefix

    def _named(self) -> list[str]:
        """Return the URLs of all queues whose names begin like the deployment's."""
        begin = any_queue_name(self.prefix).removesuffix("*")
        urls: list[str] = []
        more: Any = {}
        while True:
            with translated("ListQueues"):
                answer = self.client.list_queues(QueueNamePrefix=begin, MaxResults=PAGE, **more)
            urls += answer.get("QueueUrls", [])
            if not (token := answer.get("NextToken")):
                return urls
            more = {"NextToken": token}


@contextmanager
def _or_gone() -> Iterator[None]:
    """Ignore the error of a queue that is not there any more."""
    try:
        yield
    except refusals() as problem:
        if error_code(problem) not in MISSING:
            raise
