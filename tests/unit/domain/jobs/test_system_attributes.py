"""The attributes that only the system sets: each row is shown, declared and kept from clients."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import CheckedAttributes
from ojs_aws.domain.jobs.attributes import (
    IN_JOBS,
    OWN_ATTRIBUTES,
    SHOWN,
    SYSTEM_ATTRIBUTES,
    ShownAttribute,
)
from ojs_aws.domain.jobs.validation import Envelope
from ojs_aws.transport.http.jobs import models

UNDECLARED = {"activated_at", "next_retry_at"}
"""Members that the answers have for single clients, and OpenAPI never declared."""


@pytest.mark.parametrize("row", SHOWN, ids=lambda row: row.name)
def test_each_row_shows_a_field_of_the_record(row: ShownAttribute) -> None:
    """A row with a misspelt name fails here, not in an answer."""
    assert (row.field or row.name) in {field.name for field in fields(JobRecord)}


@pytest.mark.parametrize(("name", "_", "__"), IN_JOBS)
def test_what_jobs_show_is_declared_and_kept_from_clients(name: str, _: str, __: bool) -> None:
    """OpenAPI knows what answers about one job show; a client's value is not stored."""
    assert name in models.JobHead.__annotations__ or name in UNDECLARED
    assert name in SYSTEM_ATTRIBUTES


def test_own_attributes_are_those_whose_names_begin_with_ours() -> None:
    """So PUSH refuses them all from clients."""
    assert {name for name in SYSTEM_ATTRIBUTES if name.startswith("x_aws_")} == OWN_ATTRIBUTES


def test_clients_send_the_times_that_only_lists_show() -> None:
    """They are a part of the job's document, so answers about one job have them anyway."""
    assert {row.name for row in SHOWN if not row.is_in_jobs} == {"scheduled_at", "expires_at"}
    assert not {"scheduled_at", "expires_at"} & SYSTEM_ATTRIBUTES


def test_the_envelope_and_the_record_share_what_is_copied() -> None:
    """PUSH copies these fields by their names."""
    shared = {field.name for field in fields(CheckedAttributes)}
    assert shared < {field.name for field in fields(Envelope)}
    assert shared < {field.name for field in fields(JobRecord)}
