"""Runs the local server: HTTP in front, the deployed Lambda handlers and triggers behind."""

from __future__ import annotations

import importlib
import logging
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final, Self

from ojs_aws.config import Settings
from ojs_aws.local import LocalOptions, aws, check_port, functions, load_worker
from ojs_aws.local.aws import EmbeddedMessages, EmbeddedStream, RemoteStream
from ojs_aws.local.event_streams import HEARTBEAT_S, REMOTE_POLL_S, EventStreams
from ojs_aws.local.http import Application, front_of, listen
from ojs_aws.local.lambdas import Event, Handler
from ojs_aws.local.patches import MESSAGES, RECORDS
from ojs_aws.local.triggers import Loop, SqsTrigger, StreamTrigger, Timer
from ojs_aws.topology import cron_queue_name, sqs_queue_name

BUCKET: Final = "ojs-documents"
DYNAMODB_ELSEWHERE: Final = "AWS_ENDPOINT_URL_DYNAMODB"
"""AWS's variable for the endpoint of DynamoDB alone, such as that of DynamoDB Local."""
STOP_S: Final = 0.5
"""How long the server takes at most to see that it is to stop."""
GROUPS: Final = ("producer", "worker_api", "operator", "system", "api_keys")
FUNCTIONS: Final = (*GROUPS, "stream", "tick")
RESET_S: Final = 5.0
"""How long a reset waits for running invocations."""
CATCH_UP_S: Final = 0.5
"""How long operators' requests wait at most until the stream is read, which lists completed jobs.
So who works with the server finds a job in lists once it is completed."""
CATCH_UP_PAUSE_S: Final = 0.01
RESULT_WAIT_MS: Final = "20000"
"""Here waiting for results costs nothing."""

_logger = logging.getLogger(__name__)


class ResetError(Exception):
    """Reports that a server could not be reset, because a worker still executes jobs."""


class LocalServer:
    """Starts and stops the server and everything behind it (a context manager)."""

    def __init__(self, options: LocalOptions, environ: MutableMapping[str, str]) -> None:
        """Keep the options; nothing is started yet.

        :param environ: the process environment; while the server runs it says what the functions
            need, and afterwards it is as it was.
        """
        self.options = options
        self._environ = environ
        self._stack = ExitStack()
        self.served_queues: tuple[str, ...] = ()
        self.keys: dict[str, str] = {}
        self._loops: list[Loop] = []
        self._triggers: list[SqsTrigger] = []
        self._is_unread: Callable[[], bool] = lambda: False

    def __enter__(self) -> Self:
        """Start AWS, load the functions, start the triggers, and listen.

        :raises StartError: a port, a worker or AWS is not to be had.
        """
        check_port(self.options.host, self.options.port)
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening, let running invocations end, and stop AWS."""
        self._stack.close()

    def _start(self) -> None:
        self._stack.callback(_put_back, self._environ, dict(self._environ))
        if self.options.endpoint_url is None:
            self._environ.pop("AWS_ENDPOINT_URL", None)
            self._environ.setdefault("AWS_DEFAULT_REGION", aws.REGION)
            # moto does not know the endpoints that carry an account's id.
            self._environ["AWS_ACCOUNT_ID_ENDPOINT_MODE"] = "disabled"
            self._stack.enter_context(aws.embedded_aws())
        else:
            self._environ["AWS_ENDPOINT_URL"] = self.options.endpoint_url
        settings = self._provide()
        self._handlers = {name: _function(name) for name in FUNCTIONS}
        self._start_triggers(settings)
        if self.options.has_auth:
            self._make_keys(settings)
        self._listen(settings)

    def _provide(self) -> Settings:
        """Create what CDK would deploy, and set the functions' environment."""
        import boto3  # only what runs locally needs it

        workers = [load_worker(path) for path in self.options.workers]
        queues = tuple(dict.fromkeys(queue for worker in workers for queue in worker.queues))
        self._workers = workers
        self.served_queues = queues
        self._environ.setdefault("OJS_RESULT_WAIT_MS", RESULT_WAIT_MS)
        # Its calls cost nothing, and who tries settings out wants to see them at once.
        self._environ.setdefault("OJS_QUEUE_SETTINGS_AGE_MS", "0")
        for name in ("OJS_STREAM_DELETES_MESSAGES", "OJS_STREAM_LISTS_COMPLETED"):
            self._environ.setdefault(name, "1")  # as when deployed
        settings = Settings.from_env(self._environ)
        settings = replace(settings, queues=tuple(dict.fromkeys((*settings.queues, *queues))))
        self._dynamodb = boto3.client("dynamodb")
        self._sqs = boto3.client("sqs")
        aws.create_table(self._dynamodb, settings.table)
        prefix = aws.create_queues(self._sqs, settings)
        aws.create_bucket(boto3.client("s3"), BUCKET)
        provided = {
            "OJS_QUEUE_URL_PREFIX": prefix,
            "OJS_QUEUES": ",".join(settings.queues),
            "OJS_BUCKET": BUCKET,
            "OJS_AUTH": "api-key" if self.options.has_auth else "none",
            "OJS_CORS_ORIGINS": ",".join(self.options.cors_origins or settings.cors_origins),
            "POWERTOOLS_SERVICE_NAME": "ojs",
            "POWERTOOLS_TRACE_DISABLED": "1",
            "POWERTOOLS_METRICS_DISABLED": "true",
        }
        self._environ.update(provided)
        return Settings.from_env(self._environ)

    def _make_keys(self, settings: Settings) -> None:
        """Make a key of each scope to try them with; they end with the server."""
        from ojs_aws.bootstrap import build_key_issuer  # with --auth only
        from ojs_aws.domain.access import Scope

        issuer = build_key_issuer(settings, self._dynamodb)
        self.keys = {scope: issuer.create(f"local {scope}", [scope]).text for scope in Scope}

    def _deployed(self, name: str) -> Handler:
        """Return what calls a function as it is deployed at that time."""

        def call(event: Event, context: object) -> object:
            return self._handlers[name](event, context)

        return call

    def _start_triggers(self, settings: Settings) -> None:
        stream = self._stream_trigger(settings.table, self._deployed("stream"))
        self._run(Loop("stream", stream.step, stream.pause_s, RECORDS))
        timer = Timer(self._deployed("tick"))
        self._run(Loop("timer", timer.step, timer.pause_s))
        alarms = settings.queue_url_prefix + cron_queue_name(settings.queue_prefix)
        self._trigger(alarms, self._deployed("tick"), "cron")
        for worker in self._workers:
            for queue in worker.queues:
                url = settings.queue_url_prefix + sqs_queue_name(settings.queue_prefix, queue)
                self._trigger(url, worker.lambda_handler, queue, self._is_paused(settings, queue))

    def _is_paused(self, settings: Settings, queue: str) -> Callable[[], bool]:
        """Return whether a queue is paused: deployed, this switches its trigger off."""
        from ojs_aws.bootstrap import build_backend

        registry = build_backend(settings).stores.queues

        def is_paused() -> bool:
            info = registry.load(queue)
            return info is not None and info.paused_at is not None

        return is_paused

    def _trigger(
        self, queue_url: str, handler: Handler, name: str, is_off: Callable[[], bool] | None = None
    ) -> None:
        """Let the messages of a queue invoke a function."""
        is_embedded = self.options.endpoint_url is None
        due_s = EmbeddedMessages(queue_url.rpartition("/")[2]).due_s if is_embedded else None
        trigger = SqsTrigger(self._sqs, queue_url, handler, name, is_off, due_s)
        self._stack.callback(trigger.close)
        self._triggers.append(trigger)
        self._run(Loop(f"sqs-{name}", trigger.step, trigger.pause_s, MESSAGES))

    def _stream_trigger(self, table: str, handler: Handler) -> StreamTrigger:
        elsewhere = self.options.endpoint_url or self._environ.get(DYNAMODB_ELSEWHERE)
        if not elsewhere:
            stream = EmbeddedStream(table)
            self._is_unread = stream.has_changes
            return StreamTrigger(stream, handler, stream.is_behind)
        import boto3

        remote = RemoteStream(self._dynamodb, boto3.client("dynamodbstreams"), table)
        return StreamTrigger(remote, handler)

    def _caught_up(self, handler: Handler) -> Handler:
        """Return a handler that waits until the stream is read, so that lists have what ended."""

        def handle(event: Event, context: object) -> object:
            give_up_at = time.monotonic() + CATCH_UP_S
            while self._is_unread() and time.monotonic() < give_up_at:
                time.sleep(CATCH_UP_PAUSE_S)
            return handler(event, context)

        return handle

    def _run(self, loop: Loop) -> None:
        loop.start()
        self._loops.append(loop)
        self._stack.callback(loop.stop)

    def _listen(self, settings: Settings) -> None:
        from ojs_aws.transport.http.routes import group_of

        reset = partial(self.reset, has_cold_start=False) if settings.test_mode else None
        authorizer = _function("authorizer") if self.options.has_auth else None
        elsewhere = self.options.endpoint_url or self._environ.get(DYNAMODB_ELSEWHERE)
        streams = EventStreams(REMOTE_POLL_S if elsewhere else HEARTBEAT_S)
        handlers = {name: self._deployed(name) for name in GROUPS}
        handlers["operator"] = self._caught_up(handlers["operator"])
        application = Application(handlers, group_of, reset, authorizer, streams)
        self._server = listen(self.options, front_of(application, self.options, settings))
        self._stack.callback(self._server.server_close)
        self._stack.callback(streams.close)

    @property
    def url(self) -> str:
        """Return where the API answers."""
        return f"http://{self.options.host}:{self._server.server_port}"

    def serve(self) -> None:
        """Answer requests until :meth:`stop` is called."""
        self._server.serve_forever(poll_interval=STOP_S)

    def stop(self) -> None:
        """Make :meth:`serve` return; may be called from any thread."""
        self._server.shutdown()

    def reset(self, timeout_s: float = RESET_S, *, has_cold_start: bool = True) -> None:
        """Forget everything: jobs, workflows, cron entries, settings, messages and events.

        Running invocations may end first, so that nothing of them is written afterwards.

        :param has_cold_start: start the functions again, so that none remembers a schema.
        :raises ResetError: one has not ended in time; nothing is forgotten.
        """
        deadline = time.monotonic() + timeout_s
        with ExitStack() as held:
            for loop in self._loops:
                held.enter_context(loop.held())
            for trigger in self._triggers:
                if not trigger.wait_until_idle(deadline - time.monotonic()):
                    raise ResetError(f"An invocation of {trigger.name!r} has not ended.")
            settings = Settings.from_env(self._environ)
            self._dynamodb.delete_table(TableName=settings.table)
            aws.create_table(self._dynamodb, settings.table)
            for url in self._sqs.list_queues().get("QueueUrls", []):
                self._sqs.delete_queue(QueueUrl=url)
            aws.create_queues(self._sqs, settings)
            if has_cold_start:
                self._handlers.update({name: _function(name) for name in FUNCTIONS})


def _put_back(environ: MutableMapping[str, str], before: Mapping[str, str]) -> None:
    """Restore the environment as it was before the server ran."""
    for name in [name for name in environ if name not in before]:
        del environ[name]
    environ.update(before)


def _function(name: str) -> Handler:
    """Run the module of a deployed function, as a cold start does, and return its handler.

    So the function reads the environment of this server, also where an earlier one ran it.
    """
    path = f"{functions.__name__}.{name}.handler"
    known = sys.modules.get(path)
    module = importlib.reload(known) if known is not None else importlib.import_module(path)
    handler: Handler = module.handler
    return handler
