"""Runs the whole backend in one process: the deployed Lambda handlers over an embedded AWS.

Here are its options, and what it could not start with.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ojs_aws.middleware.extensions import find, search_here

if TYPE_CHECKING:
    from ojs_aws.worker.lambda_worker import LambdaWorker


class StartError(Exception):
    """Reports that the server cannot start; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """Says how to run the local server.

    :ivar workers: Lambda workers to run in the server, as ``module:attribute``.
    :ivar endpoint_url: another AWS endpoint; None embeds moto.
    :ivar has_auth: ask for API keys, as a deployment does.
    :ivar cors_origins: origins whose pages may use the server and read its answers.
    :ivar host_names: names of the server beside ``localhost``, without a port.
    :ivar environment: what the dashboard calls the environment; empty: what its host's name says.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    workers: tuple[str, ...] = ()
    endpoint_url: str | None = None
    has_auth: bool = False
    cors_origins: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()
    environment: str = ""


def load_worker(path: str) -> LambdaWorker:
    """Load the worker at ``module:attribute``, or the one whose ``lambda_handler`` is there.

    :raises StartError: there is no such module or attribute, or it is no Lambda worker.
    """
    from ojs_aws.worker.lambda_worker import LambdaWorker  # only with workers

    search_here()
    module_name, _, attribute = path.partition(":")
    try:
        found: Any = find(path, "worker")
    except ModuleNotFoundError as problem:
        raise StartError(f"Cannot import {module_name!r}: {problem}.") from problem
    except AttributeError:
        raise StartError(f"Module {module_name!r} has no attribute {attribute!r}.") from None
    if not isinstance(found, LambdaWorker):  # what Lambda is given: worker.lambda_handler
        found = getattr(found, "__self__", found)
    if isinstance(found, LambdaWorker):
        return found
    raise StartError(
        f"{path!r} is a {type(found).__name__} and no LambdaWorker: name the worker itself, such "
        "as jobs:worker, or its lambda_handler."
    )


def check_port(host: str, port: int) -> None:
    """Refuse a port that is taken, before anything else is started.

    :raises StartError: naming the port and the ways out.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise StartError(
                f"Port {port} on {host} is not free ({problem.strerror}). Stop what uses it, or "
                "choose another one with --port or OJS_PORT."
            ) from problem
