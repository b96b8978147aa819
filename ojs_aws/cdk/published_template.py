"""Holds the template that the constructs wrote at the release, and renders queues into it.

Nothing here needs the CDK or Node.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from ojs_aws.topology import QUEUE_SEPARATOR, sqs_queue_name

TEMPLATE: Final = Path(__file__).with_name("template.json")
"""The file. `python -m infra.template` writes it again."""
WORKER_TEMPLATE: Final = Path(__file__).with_name("template_worker.json")
"""What a Lambda worker adds to it and changes in it; written with it."""
TRIGGER: Final = "WorkerTrigger"
"""Logical id of the worker's trigger for the declared queue; those of others have it in front."""

PREFIX: Final = "prefix-of-the-deployment"
"""Stands for the prefix while the constructs synthesise: they check it, so it is no token."""
REGION: Final = "region-of-the-deployment"
"""Stands for the region: a table under a key of your own needs one at synthesis."""
DECLARED: Final = "queue-that-is-declared"
"""Stands for each declared queue."""

_PARENT: Final = ("Backend", "Queues")
_RESOURCE: Final = "Resource"
_QUEUES: Final = "OJS_QUEUES"
_MOST: Final = "MaximumConcurrency"
_TABLE: Final = "AWS::DynamoDB::GlobalTable"
_TRIGGER_TYPE: Final = "AWS::Lambda::EventSourceMapping"
_STREAM: Final = re.compile(
    r"(?P<table>arn:[\w-]+:dynamodb:(?P<region>[\w-]+):(?P<account>\d{12}):table/"
    r"(?P<name>[\w.-]{3,255}))/stream/.+"
)


@dataclass(frozen=True, slots=True)
class RestoredStream:
    """Names a table that was restored from a backup, by its stream.

    :ivar table: the table's ARN.
    """

    arn: str
    table: str
    name: str
    region: str
    account: str

    @classmethod
    def of(cls, arn: str) -> Self | None:
        """Return what the ARN of a stream says; None, where it is no such ARN."""
        found = _STREAM.fullmatch(arn)
        return None if found is None else cls(arn=arn, **found.groupdict())


def rendered(
    queues: Sequence[str],
    text: str | None = None,
    *,
    worker: bool = False,
    worker_concurrency: int | None = None,
    restored: RestoredStream | None = None,
) -> dict[str, Any]:
    """Return the template with these declared queues.

    :param text: the template; None: that of this version.
    :param worker: a Lambda worker serves all of them.
    :param worker_concurrency: its invocations at a time, for each queue; None: the construct's.
    :param restored: a restored table takes the place of the template's; None: it has its own.
    """
    template = json.loads(TEMPLATE.read_text(encoding="utf-8") if text is None else text)
    if worker:
        for section, added in json.loads(WORKER_TEMPLATE.read_text(encoding="utf-8")).items():
            template[section] |= added
        if worker_concurrency is not None:
            template["Resources"][TRIGGER]["Properties"]["ScalingConfig"] = {
                _MOST: worker_concurrency
            }
    copied: dict[str, Callable[[str], str]] = {
        logical_id(DECLARED): logical_id,
        TRIGGER: lambda queue: f"{TRIGGER}{logical_id(queue)}",
    }
    resources = {}
    for name, each in template["Resources"].items():
        if name in copied:
            for queue in queues:
                resources[copied[name](queue)] = _replaced(each, _names(queue))
        else:
            resources[name] = _with_queues(each, queues)
    template["Resources"] = resources
    if restored is not None:
        template = _with_table(template, restored)
    return dict(_parametrised(template))


def worker_concurrency(template: Mapping[str, Any]) -> int | None:
    """Return the invocations at a time that a template allows its worker; None without one."""
    for name, resource in template.get("Resources", {}).items():
        if name.startswith(TRIGGER):
            most = resource["Properties"].get("ScalingConfig", {}).get(_MOST)
            return int(most) if most is not None else None
    return None


def restored_stream(template: Mapping[str, Any]) -> RestoredStream | None:
    """Return the restored table that a template uses; None, where it has a table of its own."""
    for resource in template.get("Resources", {}).values():
        if resource.get("Type") == _TRIGGER_TYPE:
            source = resource["Properties"].get("EventSourceArn")
            found = RestoredStream.of(source) if isinstance(source, str) else None
            if found is not None:
                return found
    return None


def logical_id(queue: str) -> str:
    """Return the logical id of a declared queue, as the CDK makes it of the construct's path."""
    path = [*_PARENT, f"Queue-{queue}", _RESOURCE]
    digest = hashlib.md5("/".join(path).encode(), usedforsecurity=False).hexdigest()[:8].upper()
    human = "".join("".join(filter(str.isalnum, part)) for part in path[:-1])
    return f"{human[:240]}{digest}"


def _with_queues(value: Any, queues: Sequence[str]) -> Any:
    """Return a resource that names all declared queues where it named the one."""
    reference = {"Ref": logical_id(DECLARED)}
    if isinstance(value, list):
        if reference in value:
            others = [{"Ref": logical_id(queue)} for queue in queues]
            at = value.index(reference)
            value = [*value[:at], *others, *value[at + 1 :]]
        return [
            changed
            for each in value
            for changed in (
                [_replaced(each, _names(queue)) for queue in queues]
                if _is_about_one(each)
                else [_with_queues(each, queues)]
            )
        ]
    if isinstance(value, dict):
        return {
            key: ",".join(queues) if key == _QUEUES else _with_queues(each, queues)
            for key, each in value.items()
        }
    return value


def _with_table(template: dict[str, Any], restored: RestoredStream) -> dict[str, Any]:
    """Return a template without its table, in which all names are those of the restored one."""
    resources = template["Resources"]
    [own] = [name for name, each in resources.items() if each["Type"] == _TABLE]
    said = {
        json.dumps({"Ref": own}): restored.name,
        json.dumps({"Fn::GetAtt": [own, "Arn"]}): restored.table,
        json.dumps({"Fn::GetAtt": [own, "StreamArn"]}): restored.arn,
    }
    text = json.dumps(template | {"Resources": {**resources, own: None}})
    for reference, value in said.items():
        text = text.replace(reference, json.dumps(value))
    changed: dict[str, Any] = json.loads(text)
    del changed["Resources"][own]
    return changed


def _is_about_one(value: Any) -> bool:
    """Return whether an element of a list is the ARN of the declared queue."""
    return bool(value == {"Fn::GetAtt": [logical_id(DECLARED), "Arn"]})


def _names(queue: str) -> Mapping[str, str]:
    """Return what stands for the declared queue; its name at SQS follows a prefix of any length."""
    name = sqs_queue_name(QUEUE_SEPARATOR, queue).removeprefix(QUEUE_SEPARATOR)
    return {logical_id(DECLARED): logical_id(queue), DECLARED: name}


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with other names in all its texts."""

    def renamed(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    return _mapped(value, renamed)


def _parametrised(value: Any, *, is_in_sub: bool = False) -> Any:
    """Return a value with parameters in the place of prefix and region."""
    if isinstance(value, str):
        text = value.replace(PREFIX, "${Prefix}").replace(REGION, "${AWS::Region}")
        if text == value:
            return value
        return text if is_in_sub else {"Fn::Sub": text}
    if isinstance(value, list):
        return [_parametrised(each) for each in value]
    if isinstance(value, dict):
        return {key: _parametrised(each, is_in_sub=key == "Fn::Sub") for key, each in value.items()}
    return value


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    return value
