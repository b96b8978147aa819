"""The settings that hold for a queue, as they are shown (ojs-queue-config, section 7).

Its own come first, then the default policy's, then the deployment's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ojs_aws.config import Settings
from ojs_aws.domain.queues.config import (
    DEFAULT_POLICY,
    DEFAULT_WARNING,
    LIMIT_NAMES,
    Members,
    shown_span,
)
from ojs_aws.ports import QueueInfo, QueueSettings
from ojs_aws.services.queues.push_settings import push_settings_of


@dataclass(frozen=True, slots=True)
class QueueConfigView:
    """A queue with its settings.

    :ivar info: None for the default policy.
    :ivar config: what holds: its own settings, the default policy's, and the deployment's.
    :ivar own: what was set for this very queue.
    """

    name: str
    info: QueueInfo | None
    settings: QueueSettings
    config: Members
    own: Members


def config_view(
    name: str,
    info: QueueInfo | None,
    found: Mapping[str, QueueSettings],
    limit: Members,
    deployed: Settings,
) -> QueueConfigView:
    """What holds for a queue, or for the default policy.

    :param found: what was set for the queue and for the default policy.
    :param limit: the queue's limit, as settings show it.
    """
    own = found.get(name, QueueSettings(queue=name))
    default = found.get(DEFAULT_POLICY)
    if name == DEFAULT_POLICY:
        mine = dict(own.members)
        return QueueConfigView(name, None, own, {**_of_deployment(deployed), **mine}, mine)
    mine = {**own.members, **limit}
    layers = {**(default.members if default else {}), **own.members}
    for each in LIMIT_NAMES:  # kept with the queue, once it was used
        layers.pop(each, None)
    config = {**_of_deployment(deployed), **layers, **limit}
    config["retention"] = _retention(own, default, deployed)
    return QueueConfigView(name, info, own, config, mine)


def _retention(own: QueueSettings, default: QueueSettings | None, deployed: Settings) -> Members:
    kept = push_settings_of(default, own).config.retention
    return {
        "completed": _shown(kept.completed_s, deployed.completed_retention_s),
        "discarded": _shown(kept.discarded_s, deployed.discarded_retention_s),
        "cancelled": _shown(kept.cancelled_s, deployed.completed_retention_s),
    }


def _of_deployment(deployed: Settings) -> Members:
    return {
        "max_size": None,
        "overflow_policy": "reject",
        "ordering_shards": 1,
        "warning_threshold": DEFAULT_WARNING,
        "visibility_timeout": deployed.default_visibility_timeout_s,
        "default_timeout": deployed.default_timeout_s,
        "retention": _retention(QueueSettings(queue=DEFAULT_POLICY), None, deployed),
        "dead_letter_ttl": _shown(None, deployed.dead_letter_retention_s),
        "allowed_job_types": ["*"],
    }


def _shown(own_s: int | None, deployed_s: int) -> str | None:
    """A retention as it is shown; None where jobs stay for ever."""
    seconds = deployed_s if own_s is None else own_s
    return shown_span(seconds) if seconds else None
