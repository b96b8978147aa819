"""The checks of late reports are broken on purpose: a test of tokens notices each (8.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from ojs_aws.domain.api_keys import Refusal
from tests.simulation.breakages import TRANSITIONS, Mutation
from tests.simulation.mutations import applied
from tests.unit.domain.jobs import test_attempt_tokens as tokens
from tests.unit.transport.http import test_attempts as attempts

TOKENS: Final = "ojs_aws.domain.jobs.attempt_tokens"
HTTP: Final = "ojs_aws.transport.http"


def same_number(operation: str) -> Callable[[], None]:
    return lambda: attempts.test_8_2_a_late_report_changes_no_attempt_of_the_same_number(operation)


def named_attempt() -> None:
    attempts.test_a_token_of_before_names_no_later_attempt("ack", has_keys=True)


def ended() -> None:
    tokens.test_a_token_ends_with_the_attempts_time(0, Refusal.EXPIRED)


def ended_where_access_is_open() -> None:
    attempts.test_a_token_ends_with_the_attempts_time(has_keys=False)


BREAKAGES: Final = (
    (
        Mutation(
            "report-without-reservation",
            "a report by token does not say of which reservation it is",
            f"{HTTP}.jobs.reports:_attempt_of",
            (("reservation_id=grant.reservation_id, ", ""),),
        ),
        same_number("ack"),
    ),
    (
        Mutation(
            "reservation-unwritten",
            "ACK's condition on the reservation is dropped",
            f"{TRANSITIONS}:_be_attempt",
            (("if which.reservation_id is not None:", "if False:"),),
        ),
        same_number("ack"),
    ),
    (
        Mutation(
            "reservation-unread",
            "FAIL does not look at the reservation",
            "ojs_aws.domain.jobs.held_job:AttemptRef.is_running",
            (
                (
                    "if self.reservation_id is not None and self.reservation_id != held.id:",
                    "if False:",
                ),
            ),
        ),
        same_number("fail"),
    ),
    (
        Mutation(
            "named-reservation-unchecked",
            "a token reports on whichever reservation the body names",
            f"{TOKENS}:AttemptGrant.check_report",
            (("if reservation_id not in {None, self.reservation_id}:", "if False:"),),
        ),
        named_attempt,
    ),
    (
        Mutation(
            "named-attempt-unchecked",
            "a token reports on whichever attempt the body names",
            f"{TOKENS}:AttemptGrant.check_report",
            (("if attempt not in {None, self.attempt}:", "if False:"),),
        ),
        named_attempt,
    ),
    (
        Mutation(
            "token-for-ever",
            "a token does not end",
            f"{TOKENS}:check_token",
            (("Refusal.EXPIRED if grant.ends_at <= now else grant", "grant"),),
        ),
        ended,
    ),
    (
        Mutation(
            "open-token-for-ever",
            "a token does not end where access is open",
            f"{HTTP}.callers:_with_token",
            (("if grant.ends_at <= now:", "if False:"),),
        ),
        ended_where_access_is_open,
    ),
    (
        Mutation(
            "remembered-for-ever",
            "a token that the gateway remembers does not end",
            f"{HTTP}.callers:_by_key",
            ((' or found.get("until", now + 1) <= now', ""),),
        ),
        attempts.test_a_token_that_the_gateway_remembers_ends_in_time,
    ),
)


@pytest.mark.parametrize(("mutation", "test"), BREAKAGES, ids=[each.name for each, _ in BREAKAGES])
def test_what_is_broken_on_purpose_is_noticed(mutation: Mutation, test: Callable[[], None]) -> None:
    """And is no error as it stands. An answer that is no refusal has no error to look at."""
    test()
    with applied(mutation), pytest.raises((AssertionError, KeyError)):
        test()
