"""Constructs with bindings beside each other: a queue has one dispatcher."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import (
    DeliveryFunction,
    DeliveryFunctionProps,
    JobBackend,
    JobBackendProps,
    LambdaBindings,
    LambdaBindingsProps,
    LambdaTarget,
)
from tests.infra.conftest import NO_BUNDLING
from tests.infra.test_lambda_bindings import shop


class Shop:
    """A stack to which constructs with bindings are added."""

    def __init__(self) -> None:
        self.stack = Stack(App(context=NO_BUNDLING), "S")
        self.backend = JobBackend(self.stack, "Jobs", JobBackendProps(queues=["email", "media"]))
        self.secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(self.stack, "Key"))

    def bind_function(self, queue: str = "email", name: str = "function") -> None:
        target = LambdaTarget(function=shop(self.stack, f"F{name}"), queues=[queue], types=[name])
        props = LambdaBindingsProps(backend=self.backend, targets={name: target})
        LambdaBindings(self.stack, f"L{name}", props)

    def bind_endpoint(self, queue: str = "email") -> None:
        props = DeliveryFunctionProps(
            backend=self.backend,
            queues=[queue],
            bindings={"shop": ["https://app.example.com/"]},
            signing_secret=self.secret,
        )
        DeliveryFunction(self.stack, "D", props)


@pytest.mark.parametrize(
    "steps",
    [
        (Shop.bind_function, Shop.bind_endpoint),
        (Shop.bind_endpoint, Shop.bind_function),
        (Shop.bind_function, lambda shop: shop.bind_function(name="other")),
    ],
    ids=["function first", "endpoint first", "two of functions"],
)
def test_a_queue_has_the_bindings_of_one_construct(
    steps: tuple[Callable[[Shop], None], Callable[[Shop], None]],
) -> None:
    """Its messages would invoke either dispatcher, and each knows its own bindings alone."""
    made = Shop()
    steps[0](made)
    with pytest.raises(
        ValueError, match=r"of email, and .*in one construct; .*queues of their own"
    ):
        steps[1](made)


def test_queues_of_their_own_may_have_any_bindings() -> None:
    """In one stack."""
    made = Shop()
    made.bind_function()
    made.bind_endpoint("media")
