"""States what AWS refuses by region and account: read at synthesis, and by ``ojs-aws preflight``.

Pure data, from AWS's documentation of November 2026. Nothing here is asked of AWS.
"""

from __future__ import annotations

from typing import Final

NO_FUNCTION_URLS: Final = frozenset(
    {
        "ap-east-2",
        "ap-south-2",
        "ap-southeast-4",
        "ap-southeast-5",
        "ap-southeast-6",
        "ap-southeast-7",
        "ca-west-1",
        "eu-central-2",
        "eu-south-2",
        "il-central-1",
        "me-central-1",
        "us-gov-east-1",
        "us-gov-west-1",
    }
)
"""Regions without function URLs: Lambda's guide, "Creating and managing Lambda function URLs", and
the guide of GovCloud. CloudFormation does not know their type there, and refuses the template."""

NO_URL_HINT: Final = (
    "Leave the job endpoint out: job_endpoint=False (-c job_endpoint=false). API Gateway serves "
    "senders and workers, too."
)
"""The way out where a function URL is asked for in such a region."""

LEAST_UNRESERVED: Final = 100
"""Executions that Lambda leaves to functions without a reservation; all of them, where the
account's limit is lower. So a new account, whose limit may be 10, can reserve none."""

LIMIT_HINT: Final = (
    "Ask for a higher limit, which costs nothing: Service Quotas, AWS Lambda, Concurrent "
    "executions (L-B99A9384)."
)

DISCOVERY_S: Final = 1.5
"""How soon an issuer must answer while API Gateway makes an authorizer of its tokens."""
