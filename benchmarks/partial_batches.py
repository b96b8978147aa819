"""What Powertools' AsyncBatchProcessor would add to a Lambda worker: import time, and time a batch.

    python -m benchmarks.partial_batches

Processor time, so that other programs on the machine matter little; the least of some rounds.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from aws_lambda_powertools.utilities.batch import (
    AsyncBatchProcessor,
    EventType,
    async_process_partial_response,
)
from rich.console import Console

from benchmarks.local_server import ROOT
from benchmarks.results import show_table
from ojs_aws.client.loop_thread import LoopThread

ROUNDS: Final = 3 if os.environ.get("QUICK") else 15
BATCH: Final = 10
BATCHES: Final = 50

os.environ.setdefault("LAMBDA_TASK_ROOT", "/var/task")  # as in Lambda it keeps its event loop

_IMPORT: Final = """
import sys, time
import ojs_aws.worker.lambda_worker, ojs_aws.bootstrap{more}
known, begun = len(sys.modules), time.process_time()
import aws_lambda_powertools.utilities.batch
print((time.process_time() - begun) * 1000, len(sys.modules) - known)
"""


def import_cost(more: str = "") -> tuple[float, int]:
    """Milliseconds and modules that the import adds to those of a worker.

    :param more: what the worker imports, too.
    """
    code = _IMPORT.format(more=f", {more}" if more else "")
    found = []
    for _ in range(ROUNDS + 1):  # the first one compiles what is not compiled yet
        ended = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
        )
        milliseconds, modules = ended.stdout.split()
        found.append((float(milliseconds), int(modules)))
    return min(found)


def records() -> list[dict[str, Any]]:
    """A batch of messages."""
    return [
        {
            "messageId": f"m-{number}",
            "receiptHandle": "h",
            "body": "{}",
            "attributes": {"ApproximateReceiveCount": "1"},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-west-1:1:ojs-default",
        }
        for number in range(BATCH)
    ]


async def check(message_id: str) -> None:
    """Fail for each second message."""
    if int(message_id[2:]) % 2:
        raise ValueError(message_id)


def with_processor(event: dict[str, Any]) -> Callable[[], object]:
    """Collect the messages that come back by AsyncBatchProcessor; each second one does."""
    processor = AsyncBatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)

    async def handle(record: Any) -> None:
        await check(record.message_id)

    context: Any = object()
    return lambda: async_process_partial_response(event, handle, processor, context)


def by_hand(event: dict[str, Any]) -> Callable[[], object]:
    """Collect them as the worker does: a task for each message, which returns whether it does."""
    loop = LoopThread("partial-batches")

    async def handle(message_id: str) -> bool:
        with suppress(ValueError):
            await check(message_id)
            return False
        return True

    async def run() -> list[str]:
        ids = [record["messageId"] for record in event["Records"]]
        works = [asyncio.ensure_future(handle(each)) for each in ids]
        await asyncio.wait(works)
        return [each for each, work in zip(ids, works, strict=True) if work.result()]

    return lambda: {"batchItemFailures": [{"itemIdentifier": each} for each in loop.run(run())]}


def microseconds(batch: Callable[[], object]) -> float:
    """Of processor time for one batch, in all threads."""
    batch()
    found = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(BATCHES):
            batch()
        found.append((time.process_time() - begun) / BATCHES * 1e6)
    return min(found)


def main() -> int:
    """Measure and print."""
    event = {"Records": records()}
    powertools, ours = with_processor(event), by_hand(event)
    if powertools() != ours():
        raise AssertionError("the two answers differ")
    (import_ms, modules), (beside_ms, fewer) = import_cost(), import_cost("aws_lambda_powertools")
    rows = [
        ("import beside a worker's, ms (modules)", f"{import_ms:.1f} ({modules})", "0"),
        ("the same where Logger is imported", f"{beside_ms:.1f} ({fewer})", "0"),
        (f"a batch of {BATCH}, µs", f"{microseconds(powertools):.0f}", f"{microseconds(ours):.0f}"),
    ]
    columns = ("processor time", "AsyncBatchProcessor", "by hand")
    show_table("partial-batches", "Partial batch responses", columns, rows, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
