"""Tokens of attempts: who makes them, what they say, and what they open (ojs-serverless, 8.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.domain.api_keys import Refusal
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, check_token, read_token, token_text
from ojs_aws.domain.timestamps import Instant

JOB = "01912345-6789-7abc-8def-0123456789ab"
OTHER = "01912345-6789-7abc-8def-0123456789ac"
NOW = Instant(1_800_000_000_000)
KEY, NEW_KEY = "whsec_old", "whsec_new"
GRANT = AttemptGrant(
    job_id=JOB, attempt=2, reservation_id="0123456789ab", ends_at=Instant(NOW + 60_000)
)

hexadecimal = st.text("0123456789abcdef", min_size=12, max_size=12)
grants = st.builds(
    AttemptGrant,
    job_id=st.uuids().map(str),
    attempt=st.integers(1, 10**9),
    reservation_id=hexadecimal,
    ends_at=st.integers(NOW + 1, NOW + 10**12).map(Instant),
)
keys = st.text(min_size=1, max_size=40)


@given(grants, keys)
def test_a_token_gives_what_it_was_made_for(grant: AttemptGrant, key: str) -> None:
    """And says so without a key, too."""
    text = token_text(grant, key)
    assert check_token(text, [key], NOW) == grant
    assert read_token(text) == grant


@given(grants, keys, keys)
def test_another_key_makes_no_token(grant: AttemptGrant, key: str, other: str) -> None:
    """Neither does none."""
    assume(key != other)
    assert check_token(token_text(grant, key), [other], NOW) is Refusal.UNKNOWN
    assert check_token(token_text(grant, key), [], NOW) is Refusal.UNKNOWN


@given(st.data(), grants)
def test_a_token_with_another_character_is_refused(
    data: st.DataObject, grant: AttemptGrant
) -> None:
    """Whichever it is: each part is signed."""
    text = token_text(grant, KEY)
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.characters(exclude_characters=text[at]))
    changed = text[:at] + put + text[at + 1 :]
    assert isinstance(check_token(changed, [KEY], NOW), Refusal)


@given(st.text())
@example("")
@example(token_text(GRANT, KEY) + "\n")
@example(token_text(GRANT, KEY).replace(".2.", ".٢."))
@example(token_text(GRANT, KEY).upper())
@example(token_text(replace(GRANT, reservation_id="x" * 65), KEY))
def test_what_is_no_token_is_refused(text: str) -> None:
    """Whatever somebody sends."""
    assert check_token(text, [KEY], NOW) is Refusal.MALFORMED
    assert read_token(text) is None


@pytest.mark.parametrize("known", [[KEY, NEW_KEY], [NEW_KEY, KEY]])
def test_both_keys_count_while_one_replaces_the_other(known: list[str]) -> None:
    """Whichever of them signed."""
    for key in known:
        assert check_token(token_text(GRANT, key), known, NOW) == GRANT


@pytest.mark.parametrize(
    ("left_ms", "found"),
    [(1, None), (0, Refusal.EXPIRED), (-1, Refusal.EXPIRED)],
)
def test_a_token_ends_with_the_attempts_time(left_ms: int, found: Refusal | None) -> None:
    """To the millisecond."""
    grant = replace(GRANT, ends_at=Instant(NOW + left_ms))
    assert check_token(token_text(grant, KEY), [KEY], NOW) == (found or grant)


def test_a_forged_token_does_not_learn_that_it_is_over() -> None:
    """Only who has the right signature does."""
    over = token_text(replace(GRANT, ends_at=NOW), "another key")
    assert check_token(over, [KEY], NOW) is Refusal.UNKNOWN


def test_the_caller_of_a_token_is_bound_to_its_attempt() -> None:
    """It is no owner of queues, and the log names the job."""
    caller = GRANT.caller
    assert (caller.id, caller.name, caller.attempt) == (f"attempt:{JOB}", f"attempt:{JOB}", GRANT)
    assert not caller.is_bound  # the attempt says more, and nothing has to be read for it
    assert caller.permissions == {"dequeue", "inspect"}


@pytest.mark.parametrize("operation", ["fetch", "cancel", "why", "put_checkpoint", "health", ""])
def test_a_token_opens_no_other_operation(operation: str) -> None:
    """The refusal names it."""
    with pytest.raises(PermissionDeniedError) as refused:
        GRANT.check_operation(operation)
    assert refused.value.details == {"operation": operation}


@pytest.mark.parametrize(
    ("about", "field"),
    [
        ((OTHER, None, None), "job_id"),
        ((OTHER, GRANT.reservation_id, 2), "job_id"),
        ((JOB, "ba9876543210", None), "reservation_id"),
        ((JOB, GRANT.reservation_id, 1), "attempt"),
        ((JOB, None, 3), "attempt"),
    ],
)
def test_a_token_is_for_its_own_job_and_attempt_alone(
    about: tuple[str, str | None, int | None], field: str
) -> None:
    """The refusal says what was named, and nothing of the token."""
    with pytest.raises(PermissionDeniedError) as refused:
        GRANT.check_report(*about)
    assert refused.value.details["field"] == field
    assert str(refused.value.details[field]) in map(str, about)


@pytest.mark.parametrize("about", [(JOB,), (JOB, GRANT.reservation_id, 2)])
def test_a_report_may_name_its_attempt_or_not(about: tuple[str, str, int]) -> None:
    """The token says it anyway."""
    GRANT.check_report(*about)


def test_a_long_name_is_cut_in_a_refusal() -> None:
    """Nobody gets a long text back."""
    with pytest.raises(PermissionDeniedError) as refused:
        GRANT.check_report(JOB, "x" * 1000)
    assert refused.value.details["reservation_id"] == "x" * 255
