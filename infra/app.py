"""Defines the CDK app that ``cdk deploy`` runs. It needs no credentials and no Docker.

Context (``cdk.json``, or ``-c name=value``): ``stack``, ``prefix``, ``queue_separator``,
``queues``, ``adopted_queues`` and ``queue_alarms`` (each separated by commas),
``ordering_shards`` (wide queues with their lines: mail=16,images=8),
``allow_undeclared_queues``, ``demo``, ``architecture`` (arm64 or x86_64), ``python`` (such as 3.13)
and ``removal`` (retain or destroy). Who may call: ``auth`` (api-key, jwt, iam or none), with
``auth_cache_s`` for API keys, ``jwt_issuer`` and ``jwt_audience`` for tokens; ``cors_origins``
(separated by commas); ``job_endpoint`` (true or false: a URL of their own for senders and workers,
without API Gateway). Middleware and hooks of your own: ``extensions`` (the
folder of their code) with ``enqueue_middleware`` and ``hooks`` (each as module:attribute).
Functions that start warm: ``start`` (cold, snapstart, or how many executions to provision). How
long the table's changes are gathered for one invocation: ``stream_window_s``. The page for
operators at the API's URL: ``web_dashboard``, with ``sign_in_client``, ``sign_in_scopes``,
``sign_in_audience`` and ``sign_in_origins`` if they sign in at the issuer of the tokens (see
:class:`ojs_aws.cdk.OidcSignIn`), and ``environment`` (what the page calls itself, such as prod or
staging); a dashboard of CloudWatch: ``dashboard``; traces in AWS X-Ray:
``tracing`` (each true or false). Who is notified of alarms: ``alarm_email``, or ``alarm_topic``
(the ARN of one of yours). An export of jobs that have ended: ``export_days`` (how long it is kept)
and ``export_documents``. A KMS key of your own for the table and the buckets: ``encryption_key``
(its ARN, or ``aws-owned`` for a key of AWS whose use is free). After a restore: ``restored_table``
and ``restored_stream``, as ``ojs-aws restore table`` prints them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, cast, get_args

from aws_cdk import App, RemovalPolicy

from infra.stack import OjsStack, OjsStackProps
from ojs_aws.cdk import (
    Access,
    ApiKeys,
    BackendExtensions,
    ExportOptions,
    Iam,
    Jwt,
    OidcSignIn,
    OpenAccess,
    Provisioned,
    RestoredTable,
    SnapStart,
    Target,
    WarmStart,
)
from ojs_aws.cdk.api.access import MAX_CACHE_S
from ojs_aws.cdk.bundle import Machine, default_target
from ojs_aws.config import MAX_LINES
from ojs_aws.environment import numbers_by_name
from ojs_aws.topology import OLD_QUEUE_SEPARATOR, QUEUE_SEPARATOR

MAX_WINDOW_S: Final = 300
_TRUE: Final = {"true", "1", "yes", "on"}
_FALSE: Final = {"false", "0", "no", "off"}
_AWS_OWNED: Final = "aws-owned"
_REMOVALS: Final = {"retain": RemovalPolicy.RETAIN, "destroy": RemovalPolicy.DESTROY}


# fmt: off
NAMES: Final = frozenset({
    "adopted_queues", "alarm_email", "alarm_topic", "allow_undeclared_queues", "architecture",
    "auth", "auth_cache_s", "cors_origins", "dashboard", "demo", "encryption_key",
    "enqueue_middleware", "environment", "export_days", "export_documents", "extensions", "hooks",
    "job_endpoint", "jwt_audience", "jwt_issuer", "ordering_shards", "prefix", "python",
    "queue_alarms", "queue_separator", "queues", "removal", "restored_stream", "restored_table",
    "sign_in_audience", "sign_in_client", "sign_in_origins", "sign_in_scopes", "stack", "start",
    "stream_window_s", "tracing", "web_dashboard",
})
# fmt: on
"""The names that this app reads from the context. The CDK's own contain ``@``, ``:`` or ``/``."""


class ContextError(ValueError):
    """Names a context value that cannot be used, and what is possible."""


def make_app(app: App | None = None) -> App:
    """Return the app with its stack, as the context says.

    :raises ContextError: a value that cannot be used.
    """
    app = app or App()
    _check_names(app.node.get_all_context())

    def said(name: str, default: str) -> str:
        value = app.node.try_get_context(name)
        return default if value is None else str(value)

    target = default_target()
    architecture = _one_of(get_args(Machine), "architecture", said("architecture", target.machine))
    removal = _one_of(_REMOVALS, "removal", said("removal", "retain"))
    extensions = None
    if code_dir := said("extensions", ""):
        extensions = BackendExtensions(
            code_dir=Path(code_dir),
            enqueue_middleware=said("enqueue_middleware", ""),
            hooks=said("hooks", ""),
        )
    props = OjsStackProps(
        extensions=extensions,
        queue_prefix=said("prefix", "ojs"),
        queue_separator=_one_of(
            (QUEUE_SEPARATOR, OLD_QUEUE_SEPARATOR),
            "queue_separator",
            said("queue_separator", QUEUE_SEPARATOR),
        ),
        queues=_listed(said("queues", "default")),
        adopted_queues=_listed(said("adopted_queues", "")),
        queue_alarms=_listed(said("queue_alarms", "")),
        ordering_shards=_lines(said("ordering_shards", "")),
        allow_undeclared_queues=_switch(
            "allow_undeclared_queues", said("allow_undeclared_queues", "true")
        ),
        has_demo=_switch("demo", said("demo", "true")),
        target=Target(cast("Machine", architecture), said("python", target.python)),
        access=_access(said),
        cors_origins=_listed(said("cors_origins", "")),
        job_endpoint=_job_endpoint(said("job_endpoint", "")),
        start=_start(said("start", "cold")),
        stream_batching_window_s=_window(said("stream_window_s", "1")),
        has_web_dashboard=_switch("web_dashboard", said("web_dashboard", "false")),
        web_dashboard_sign_in=_sign_in(said),
        web_dashboard_environment=said("environment", ""),
        has_dashboard=_switch("dashboard", said("dashboard", "false")),
        tracing=_switch("tracing", said("tracing", "false")),
        export=_export(said),
        alarm_email=_email(said),
        alarm_topic_arn=said("alarm_topic", ""),
        encryption_key_arn=_key(said),
        has_aws_owned_key=said("encryption_key", "") == _AWS_OWNED,
        restored_table=_restored(said),
        removal_policy=_REMOVALS[removal],
    )
    OjsStack(app, said("stack", "OjsBackend"), props)
    return app


def _check_names(names: Iterable[str]) -> None:
    """Refuse names that were probably meant to be others.

    :raises ContextError: naming the nearest one.
    """
    for name in sorted({*names} - NAMES):
        near = difflib.get_close_matches(name.lower().replace("-", "_"), sorted(NAMES), n=1)
        if near and not any(mark in name for mark in "@:/"):
            raise ContextError(f"The context has no {name!r}. Did you mean {near[0]!r}?")


def _one_of(allowed: Iterable[str], name: str, text: str) -> str:
    """Return the text that the context has under a name, if it is one of those allowed."""
    *others, last = allowed
    if text not in {*others, last}:
        raise ContextError(f"{name} is {text!r}: use {', '.join(others)} or {last}.")
    return text


def _access(said: Callable[[str, str], str]) -> Access:
    """Return who may call, as the context says."""
    auth = _one_of(("api-key", "jwt", "iam", "none"), "auth", said("auth", "api-key"))
    cache = said("auth_cache_s", "300")
    if auth == "api-key":
        if not cache.isdigit() or int(cache) > MAX_CACHE_S:
            raise ContextError(f"auth_cache_s is {cache!r}: use 0 to {MAX_CACHE_S}.")
        return ApiKeys(cache_s=int(cache))
    if auth == "jwt":
        issuer, audience = said("jwt_issuer", ""), _listed(said("jwt_audience", ""))
        if not issuer or not audience:
            raise ContextError("auth is 'jwt': say jwt_issuer and jwt_audience, too.")
        return Jwt(issuer=issuer, audience=audience)
    return Iam() if auth == "iam" else OpenAccess()


def _sign_in(said: Callable[[str, str], str]) -> OidcSignIn | None:
    """Return where operators sign in to the page, if the context names the page's client.

    :raises ContextError: it says something about the sign-in, and not the client.
    """
    client = said("sign_in_client", "")
    if not client:
        for name in ("sign_in_scopes", "sign_in_audience", "sign_in_origins"):
            if said(name, ""):
                raise ContextError(f"{name} is set: say sign_in_client, too.")
        return None
    return OidcSignIn(
        client_id=client,
        scopes=_listed(said("sign_in_scopes", "openid")),
        audience=said("sign_in_audience", ""),
        origins=_listed(said("sign_in_origins", "")),
    )


def _switch(name: str, text: str) -> bool:
    """Return True if the context switches this on."""
    if text.lower() not in _TRUE | _FALSE:
        raise ContextError(f"{name} is {text!r}: use true or false.")
    return text.lower() in _TRUE


def _job_endpoint(text: str) -> bool | None:
    """Return whether senders and workers have a URL of their own; None: nobody said."""
    return _switch("job_endpoint", text) if text else None


def _start(text: str) -> WarmStart | None:
    """Return how functions are made ready, as the context says."""
    if text == "cold":
        return None
    if text == "snapstart":
        return SnapStart()
    if not text.isdecimal() or not int(text):
        raise ContextError(
            f"start is {text!r}: use cold, snapstart, or how many executions to provision."
        )
    return Provisioned(int(text))


def _window(text: str) -> int:
    """Return how many seconds the stream's changes are gathered for."""
    if not text.isdecimal() or int(text) > MAX_WINDOW_S:
        raise ContextError(f"stream_window_s is {text!r}: use 0 to {MAX_WINDOW_S}.")
    return int(text)


def _lines(text: str) -> dict[str, int]:
    """Return the lines of wide queues."""
    try:
        return dict(numbers_by_name(2, MAX_LINES, "lines")(text))
    except ValueError as problem:
        raise ContextError(f"ordering_shards is {text!r}: {problem}.") from problem


def _export(said: Callable[[str, str], str]) -> ExportOptions | None:
    """Return what is exported, if the context says for how long."""
    days = said("export_days", "")
    if not days:
        return None
    if not days.isdecimal() or not int(days):
        raise ContextError(f"export_days is {days!r}: use how many days to keep the files.")
    return ExportOptions(
        days=int(days), documents=said("export_documents", "false").lower() in _TRUE
    )


def _email(said: Callable[[str, str], str]) -> str:
    """Return the address that gets mail of alarms; empty: none."""
    email = said("alarm_email", "")
    if email and said("alarm_topic", ""):
        raise ContextError("Say alarm_email or alarm_topic; a topic has its own subscribers.")
    if email and not all(email.rpartition("@")):
        raise ContextError(f"alarm_email is {email!r}: use an address such as ops@example.com.")
    return email


def _key(said: Callable[[str, str], str]) -> str:
    """Return the ARN of the KMS key to encrypt with; empty: AWS's keys.

    :raises ContextError: no ARN of a key, and not ``aws-owned`` either.
    """
    arn = said("encryption_key", "")
    if arn == _AWS_OWNED:
        return ""
    if arn and not (arn.startswith("arn:") and ":kms:" in arn and ":key/" in arn):
        raise ContextError(
            f"encryption_key is {arn!r}: use a key's ARN (arn:aws:kms:...:key/...), not an alias, "
            f"or {_AWS_OWNED!r}."
        )
    return arn


def _restored(said: Callable[[str, str], str]) -> RestoredTable | None:
    """Return the restored table to use from now on, if there is one."""
    name, stream = said("restored_table", ""), said("restored_stream", "")
    if bool(name) != bool(stream):
        raise ContextError("restored_table and restored_stream must be said together.")
    return RestoredTable(name=name, stream_arn=stream) if name else None


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    make_app().synth()
