"""What the testing kit loads: the services and the AWS in memory, and nothing that calls AWS."""

from __future__ import annotations

import subprocess
import sys

TEST = """
import asyncio, sys
from ojs_aws import Jobs
from ojs_aws.testing import Ojs

jobs = Jobs()

@jobs.job("a.b", queue="mail")
async def run(number: int) -> int:
    return number

async def test() -> None:
    with Ojs.fake() as ojs:
        await run.enqueue(1)
        await ojs.client.enqueue("a.b", [2])
        await ojs.drain()
        assert [job.state for job in ojs.all_enqueued()] == ["completed"] * 2
        assert ojs.all_events("job.completed")

asyncio.run(test())
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


LIBRARIES = ("botocore", "boto3", "aws_lambda_powertools", "moto")


def test_a_test_with_the_kit_loads_no_library_that_calls_aws() -> None:
    """A test that enqueues, runs and asserts; the application's own code may load them."""
    command = [sys.executable, "-c", TEST, *LIBRARIES]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr
