"""Names of SQS queues: no two deployments of an account share one, nor a pattern of rights."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from aws_cdk import App
from hypothesis import given
from hypothesis import strategies as st

from infra.app import ContextError, make_app
from ojs_aws.cdk.job_queues import QUEUE_NAME
from ojs_aws.domain.attributes import QUEUE_PATTERN
from ojs_aws.topology import (
    QUEUE_SEPARATOR,
    any_queue_name,
    cron_queue_name,
    dead_letter_queue_name,
    queue_name_prefix,
    sqs_queue_name,
)
from tests.infra.conftest import NO_BUNDLING
from tests.infra.templates import of_backend

PREFIXES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}", fullmatch=True)
QUEUES = st.from_regex(QUEUE_PATTERN, fullmatch=True).filter(lambda name: len(name) <= 128)


@given(PREFIXES, PREFIXES, QUEUES)
def test_no_pattern_of_a_deployment_covers_queues_of_another(
    one: str, other: str, queue: str
) -> None:
    """Whatever their prefixes and queues are; so no two queues have one name, either."""
    mine, theirs = (queue_name_prefix(prefix, QUEUE_SEPARATOR) for prefix in (one, other))
    names = (sqs_queue_name(theirs, queue), cron_queue_name(theirs), dead_letter_queue_name(theirs))
    for name in names:
        assert fnmatchcase(name, any_queue_name(mine)) is (one == other)
        assert len(name) <= 80


def test_two_stages_share_neither_a_queue_nor_rights() -> None:
    """Prefix ``ojs`` with queue ``dev-email``, and prefix ``ojs-dev`` with queue ``email``."""
    named = []
    for prefix, queue in (("ojs", "dev-email"), ("ojs-dev", "email")):
        template = of_backend(queue_prefix=prefix, queues=[queue])
        queues = template.of("AWS::SQS::Queue")
        statements = template.statements("functions.worker_api.handler.handler")
        (pattern,) = [
            resource.rpartition(":")[2]
            for actions, resource in statements
            if "sqs:ReceiveMessage" in actions
        ]
        named.append(({each["QueueName"] for each in queues if "QueueName" in each}, pattern))
    (first, pattern), (second, other) = named
    assert not first & second
    assert not [name for name in second if fnmatchcase(name, pattern)]
    assert not [name for name in first if fnmatchcase(name, other)]


def test_a_deployment_keeps_the_old_names_of_its_queues_by_a_setting() -> None:
    """And all that goes by them: rights, settings, policies; nothing of its queues is replaced."""
    template = of_backend(queue_prefix="shop", queue_separator="-", queues=["email"])
    queues = template.of("AWS::SQS::Queue")
    names = {each.get("QueueName") for each in queues}
    assert {"shop-email", "shop-UNREADABLE", "shop-CRON"} <= names
    function = template.function("functions.producer.handler.handler")
    assert function["Environment"]["Variables"]["OJS_QUEUE_PREFIX"] == "shop"
    resources = [where for _, where in template.statements("functions.producer.handler.handler")]
    assert any(where.endswith(":shop-*") for where in resources)
    policies = template.of("AWS::SQS::QueuePolicy")
    assert [len(each["Queues"]) for each in policies] == [1] * len(queues)


@pytest.mark.parametrize("prefix", ["ojs_dev", "ojs__", "", "a" * 31, "ojs.dev"])
def test_a_prefix_by_which_deployments_could_collide_is_refused(prefix: str) -> None:
    """An underscore would be taken for the separator."""
    with pytest.raises(ValueError, match="queue prefix"):
        of_backend(queue_prefix=prefix)


def test_a_separator_of_ones_own_is_refused() -> None:
    """There are two: the one, and the one of before."""
    with pytest.raises(ContextError, match="queue_separator"):
        make_app(App(context={**NO_BUNDLING, "queue_separator": "."}))
    with pytest.raises(ValueError, match="queue_separator"):
        of_backend(queue_separator="_")


@pytest.mark.parametrize(
    "queues", ["email", ["Email"], ["-a"], ["e mail"], [""], ["a" * 129], ["a", "a"]]
)
def test_a_queue_that_nobody_could_use_is_refused(queues: object) -> None:
    """SQS would refuse some names in the middle of a deployment; of others no job could be."""
    with pytest.raises(ValueError, match="queue"):
        of_backend(queues=queues)


@given(QUEUES)
def test_each_queue_that_a_job_can_have_may_be_declared(queue: str) -> None:
    """The constructs cannot import the pattern of the domain."""
    assert QUEUE_NAME.fullmatch(queue)
