"""Where the handler of each operation is: a cold start imports none of the rare ones.

An operation is in the module of its group, or in the one that is named here. That is imported by
the first request for one of its operations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final, cast

from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.routes import Group

Handler = Callable[[Call], Answer]

_HOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "cron": (
        "change_cron",
        "delete_cron",
        "get_cron",
        "list_crons",
        "pause_cron",
        "register_cron",
        "resume_cron",
        "trigger_cron",
    ),
    "dead_letters": (
        "dead_letter_stats",
        "delete_dead_letter",
        "delete_dead_letters",
        "get_dead_letter",
        "list_dead_letters",
        "purge_dead_letters",
        "retry_dead_letter",
        "retry_dead_letters",
    ),
    "limits": (
        "get_rate_limit",
        "limit_queue",
        "list_rate_limits",
        "unlimit_queue",
    ),
    "queues": (
        "get_queue",
        "list_queues",
        "list_queues_with_counts",
        "pause_queue",
        "purge_queue",
        "queue_stats",
        "resume_queue",
    ),
    "schemas": (
        "delete_schema",
        "delete_schema_version",
        "get_schema",
        "get_schema_version",
        "list_schema_versions",
        "list_schemas",
        "put_schema",
        "register_schema",
    ),
    "workers": (
        "deregister_worker",
        "get_worker",
        "list_workers",
        "quiet_worker",
        "quiet_workers",
        "resume_worker",
        "resume_workers",
        "terminate_worker",
        "terminate_workers",
    ),
    "workflows": (
        "cancel_workflow",
        "create_workflow",
        "get_workflow",
        "list_workflows",
    ),
}

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def handler_of(group: Group, operation: str) -> Handler:
    """The handler of an operation.

    :raises AttributeError: there is none.
    """
    module = importlib.import_module(f"{__package__}.{_HOME_OF.get(operation, group)}")
    return cast("Handler", getattr(module, operation))
