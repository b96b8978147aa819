"""Makes what a process needs of the world: AWS clients, time, ids and threads.

The clients come from botocore's session, not from boto3: importing boto3 also loads its S3 transfer
manager, which costs a cold Lambda start about 0.1 s and is never used here.
"""

from __future__ import annotations

import functools
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

import uuid_utils

from ojs_aws._version import __version__
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

    from ojs_aws.adapters.account import Account, IdentityClient
    from ojs_aws.adapters.evidence import Evidence, Reading
    from ojs_aws.adapters.removal import DataRemoval
    from ojs_aws.adapters.secrets import SecretReader
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.adapters.tasks import EcsClient, Tasks


A = TypeVar("A")
B = TypeVar("B")


class SystemClock:
    """Reads the machine's clock."""

    def __init__(self) -> None:
        """Start without a last stamp."""
        self._last = 0

    def now(self) -> Instant:
        """Return the current instant (milliseconds)."""
        return Instant(time.time_ns() // 1_000_000)

    def order(self) -> int:
        """Return strictly increasing microseconds."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last


class UuidGenerator:
    """Makes UUIDv7 identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """Return a new request id."""
        return f"req_{uuid_utils.uuid7()}"


def write_token() -> str:
    """Return a token that identifies one write (8 hexadecimal digits)."""
    return secrets.token_hex(4)


def new_reservation_id() -> str:
    """Return an id that identifies one claim of a job (12 hexadecimal digits)."""
    return secrets.token_hex(6)


THREADS: Final = 8
"""Fewer than the connections that botocore keeps for a client."""


class InThreads:
    """Runs calls in parallel; the threads are made at the first use and kept.

    A call sees the context variables of its caller, so that its log lines have the request's id,
    and its calls of AWS the request's trace.
    """

    def __init__(self) -> None:
        """Start without threads."""
        self._made: ThreadPoolExecutor | None = None

    @property
    def _pool(self) -> ThreadPoolExecutor:
        if self._made is None:
            self._made = ThreadPoolExecutor(THREADS, thread_name_prefix="ojs")
        return self._made

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call the function for each item, in order as threads become free."""
        contexts = [copy_context() for _ in items]
        return self._pool.map(lambda context, item: context.run(call, item), contexts, items)

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both functions and wait for both."""
        ahead = self._pool.submit(copy_context().run, first)
        try:
            right = second()
        finally:
            left = ahead.result()
        return left, right


@dataclass(frozen=True, slots=True)
class AwsClients:
    """Holds low-level AWS clients. Rarely used ones are made at the first use."""

    dynamodb: DynamoDBClient
    sqs: SQSClient
    s3: Callable[[], S3Client]
    events: Callable[[], EventBridgeClient]
    functions: Callable[[], LambdaClient] | None = None


CONNECT_TIMEOUT_S: Final = 1.0
READ_TIMEOUT_S: Final = 5.0
OPERATOR_READ_TIMEOUT_S: Final = 60.0
"""Of calls that deploy, look at or remove a stack: no gateway waits for their answers."""
MAX_TRIES: Final = 3
"""Three tries of at most five seconds end well inside the gateway's 30 seconds."""


def aws_clients(endpoint_url: str | None = None, region: str | None = None) -> AwsClients:
    """Make the clients from the usual AWS environment.

    :param endpoint_url: another AWS endpoint (an emulator) for all services.
    """
    make = _made_once(_maker(endpoint_url, region))
    return AwsClients(
        dynamodb=cast("DynamoDBClient", make("dynamodb")),
        sqs=cast("SQSClient", make("sqs")),
        s3=lambda: cast("S3Client", make("s3")),
        events=lambda: cast("EventBridgeClient", make("events")),
        functions=lambda: cast("LambdaClient", make("lambda")),
    )


def _made_once(make: Callable[[str], object]) -> Callable[[str], object]:
    """Return a function that makes each client once, also where several threads ask for it first.

    botocore cannot make two clients of a session at the same time.
    """
    made, lock = functools.cache(make), threading.Lock()

    def client(service: str) -> object:
        with lock:
            return made(service)

    return client


def account_of(endpoint_url: str | None = None, region: str | None = None) -> Account:
    """Return the account of the usual AWS environment; parameters as of :func:`aws_clients`."""
    from ojs_aws.adapters.account import Account  # nothing that is deployed needs it

    make = _maker(endpoint_url, region)
    sqs = cast("SQSClient", make("sqs"))
    return Account(
        region=sqs.meta.region_name,
        identity=cast("IdentityClient", make("sts")),
        functions=cast("LambdaClient", make("lambda")),
        sqs=sqs,
        stacks=cast("CloudFormationClient", make("cloudformation")),
    )


def stacks_of(endpoint_url: str | None, region: str | None, account: str) -> Stacks:
    """Return what deploys stacks; parameters as of :func:`aws_clients`.

    :param account: the account's number.
    """
    from ojs_aws.adapters.stacks import Stacks  # nothing that is deployed needs it

    make = _maker(endpoint_url, region, OPERATOR_READ_TIMEOUT_S)
    cloudformation = cast("CloudFormationClient", make("cloudformation"))
    return Stacks(
        cloudformation=cloudformation,
        s3=cast("S3Client", make("s3")),
        region=cloudformation.meta.region_name,
        account=account,
        sleep=time.sleep,
    )


def tasks_of(endpoint_url: str | None = None, region: str | None = None) -> Tasks:
    """Return what starts and stops tasks of ECS; parameters as of :func:`aws_clients`."""
    from ojs_aws.adapters.tasks import Tasks  # only bindings of tasks need it

    client = _maker(endpoint_url, region)("ecs")
    return Tasks(cast("EcsClient", client))


def data_removal_of(endpoint_url: str | None, region: str | None) -> DataRemoval:
    """Return what deletes the data of a deployment; parameters as of :func:`aws_clients`."""
    from ojs_aws.adapters.removal import DataRemoval  # nothing that is deployed needs it

    clients = aws_clients(endpoint_url, region)
    return DataRemoval(clients.dynamodb, clients.s3(), clients.sqs)


def evidence_of(endpoint_url: str | None, region: str | None) -> Evidence:
    """Return what looks at a deployment in an account; parameters as of :func:`aws_clients`."""
    from ojs_aws.adapters.evidence import Clients, Evidence  # nothing that is deployed needs it

    make = _maker(endpoint_url, region, OPERATOR_READ_TIMEOUT_S)
    usual = aws_clients(endpoint_url, region)
    region = usual.sqs.meta.region_name

    def without_tls(service: str) -> object:
        url = endpoint_url or f"http://{service}.{region}.amazonaws.com"
        return _maker(url, region)(service)

    return Evidence(
        Clients(
            cloudformation=cast("CloudFormationClient", make("cloudformation")),
            cloudwatch=cast("Reading", make("cloudwatch")),
            costs=cast("Reading", make("ce")),
            dynamodb=usual.dynamodb,
            functions=cast("LambdaClient", make("lambda")),
            iam=cast("Reading", make("iam")),
            logs=cast("Reading", make("logs")),
            plain_s3=cast("S3Client", without_tls("s3")),
            plain_sqs=cast("SQSClient", without_tls("sqs")),
            s3=usual.s3(),
            sqs=usual.sqs,
            streams=cast("DynamoDBStreamsClient", make("dynamodbstreams")),
        ),
        time.sleep,
    )


@functools.cache
def secret_reader() -> SecretReader:
    """Return what reads secrets in the usual AWS environment."""
    from ojs_aws.adapters.secrets import SecretReader  # most workers have none

    return SecretReader(_made_once(_maker(None, None)))


def _maker(
    endpoint_url: str | None, region: str | None, read_timeout_s: float = READ_TIMEOUT_S
) -> Callable[[str], object]:
    """Return what makes the client of a service, all with one session and configuration."""
    import botocore.config  # tests bring clients of their own
    import botocore.session

    from ojs_aws.adapters.errors import watch_attempts

    session = botocore.session.get_session()
    config = botocore.config.Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=read_timeout_s,
        retries={"mode": "standard", "total_max_attempts": MAX_TRIES},
        tcp_keepalive=True,
        parameter_validation=False,
        # Given whole, or botocore builds it again for each request: a quarter of a PUSH.
        user_agent=f"ojs-aws/{__version__} Botocore/{botocore.__version__}",
    )

    def make(service: str) -> object:
        used = config
        if service == "s3":  # botocore signs links in an older way, which no KMS key takes
            used = config.merge(botocore.config.Config(signature_version="s3v4"))
        client = session.create_client(
            service, region_name=region, endpoint_url=endpoint_url, config=used
        )
        watch_attempts(client)
        return client

    return make
