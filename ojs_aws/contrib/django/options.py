"""Read the setting ``OJS``, and say what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal, Self

from django.conf import settings
from django.utils.module_loading import import_string
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ojs_aws.client import Client
from ojs_aws.client.transports.substitute import ReplaceableTransport
from ojs_aws.contrib.outbox.relay import RelayOptions
from ojs_aws.contrib.request_meta import AddRequestMeta
from ojs_aws.domain.cron import OverlapPolicy
from ojs_aws.typed_jobs.clients import Clients

SETTING: Final = "OJS"
BACKEND: Final = "ojs_aws.contrib.django.tasks.OjsBackend"
_EXACT: Final = ConfigDict(frozen=True, extra="forbid")


class CronOptions(BaseModel):
    """Describes a cron job of ``OJS["CRON"]``.

    :ivar job: the import path of a typed job, such as ``shop.jobs.send_report``.
    :ivar args: positional arguments of the job; ``keywords``: those by name.
    """

    model_config = _EXACT

    cron: str
    job: str
    args: Sequence[JsonValue] = ()
    keywords: dict[str, JsonValue] = Field(default_factory=dict)
    timezone: str = "UTC"
    overlap_policy: OverlapPolicy = "skip"
    enabled: bool = True
    description: str | None = None


class OutboxOptions(BaseModel):
    """Describes ``OJS["OUTBOX"]``; see :class:`~ojs_aws.contrib.outbox.RelayOptions`.

    :ivar relay: ``built-in``: a thread of each process that commits jobs, one of which leads.
        ``separate``: only ``manage.py ojs_relay`` sends.
    :ivar retention_days: the backend's shortest retention of ended jobs; None: its default.
    """

    model_config = _EXACT

    relay: Literal["built-in", "separate"] = Field("built-in", alias="RELAY")
    batch_size: int = Field(100, alias="BATCH_SIZE", ge=1)
    poll_s: float = Field(1.0, alias="POLL_S", ge=0.05)
    max_attempts: int = Field(10, alias="MAX_ATTEMPTS", ge=1)
    retention_days: float | None = Field(None, alias="RETENTION_DAYS", ge=0.1)
    listens: bool = Field(default=True, alias="LISTEN")

    def of_relay(self) -> RelayOptions:
        """Return the options of a relay."""
        days = self.retention_days
        return RelayOptions(
            batch_size=self.batch_size,
            poll_s=self.poll_s,
            max_attempts=self.max_attempts,
            job_retention=None if days is None else timedelta(days=days),
            listens=self.listens,
        )


class DjangoOptions(BaseModel):
    """Holds the setting ``OJS``; each name is in capitals there.

    :ivar url: of the OJS server; empty: what ``OJS_URL`` names in the environment.
    :ivar api_key: empty: ``OJS_API_KEY`` of the environment.
    :ivar client: the import path of a function that makes a client, instead of both.
    :ivar queues: that ``ojs_worker`` serves; empty: those that the jobs name.
    :ivar concurrency: jobs of a worker at the same time.
    :ivar grace_s: seconds that jobs get to finish when the worker ends.
    :ivar outbox: how jobs commit with rows of the database; None: they do not.
    :ivar cron: what ``ojs_cron_sync`` registers, by name.
    """

    model_config = _EXACT

    url: str = Field("", alias="URL")
    api_key: str = Field("", alias="API_KEY", repr=False)
    client: str = Field("", alias="CLIENT")
    queues: Sequence[str] = Field((), alias="QUEUES")
    concurrency: int = Field(10, alias="CONCURRENCY", ge=1)
    grace_s: float = Field(25.0, alias="GRACE_S", ge=0)
    outbox: OutboxOptions | None = Field(None, alias="OUTBOX")
    cron: Mapping[str, CronOptions] = Field(default_factory=dict, alias="CRON")

    @classmethod
    def read(cls) -> Self:
        """Return the setting as it is now.

        :raises ValidationError: a name or a value is wrong.
        """
        return cls.model_validate(getattr(settings, SETTING, {}))

    @property
    def server(self) -> str:
        """Return the URL of the server; empty if nothing names it."""
        return self.url or os.environ.get("OJS_URL", "")

    @property
    def names_no_server(self) -> bool:
        """Return whether nothing says where the jobs are to be sent."""
        return not (self.server or self.client or "OJS_TABLE" in os.environ)

    @property
    def only_relay_sends(self) -> bool:
        """Return whether jobs become rows here, and another process sends them."""
        return self.outbox is not None and self.outbox.relay == "separate"


def problems() -> list[str]:
    """Return what is wrong with the setting, one sentence each; never a value."""
    try:
        DjangoOptions.read()
    except ValidationError as wrong:
        return [
            f"{SETTING}{''.join(f'[{part!r}]' for part in each['loc'])}: {each['msg']}."
            for each in wrong.errors(include_url=False, include_input=False)
        ]
    return []


def make_client() -> Client:
    """Return a client for the server of the setting, whose jobs have what their request knows.

    :raises ValueError: nothing says where the server is.
    """
    options = DjangoOptions.read()
    if options.client:
        make: Callable[[], Client] = import_string(options.client)
        client = make()
    elif options.url:
        client = Client(options.url, api_key=options.api_key or None)
    else:
        client = Client.from_env()
    client.middleware.add(AddRequestMeta())
    return client


def make_enqueuing_client() -> Client:
    """Return the client of the application; it may lack a server where a separate relay sends.

    Then the enqueue middleware runs, and a job that is sent at once is refused with the reason.

    :raises ValueError: nothing says where the server is.
    """
    options = DjangoOptions.read()
    if not (options.names_no_server and options.only_relay_sends):
        return make_client()
    client = Client(transport=ReplaceableTransport())
    client.middleware.add(AddRequestMeta())
    return client


CLIENTS: Final = Clients(make_enqueuing_client)
"""Makes the clients of jobs that have no ``Jobs`` with clients of its own."""
