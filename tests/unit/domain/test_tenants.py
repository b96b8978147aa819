"""Whose a job is: the form of tenant ids, and how a request's tenant gets into its jobs."""

from __future__ import annotations

import json

import pytest

from ojs_aws.domain.envelope import Job, names_tenant
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.tenants import (
    MAX_TENANT_LENGTH,
    check_tenant,
    key_of_tenant,
    put_tenant,
    tenant_of,
)


@pytest.mark.parametrize(
    "tenant", ["a", "9", "acme-corp", "A.b_c:d-e", "x" * MAX_TENANT_LENGTH, "tenant_acme"]
)
def test_ids_of_the_specified_form_are_taken(tenant: str) -> None:
    """ojs-multi-tenancy, section 5.2."""
    assert check_tenant(tenant, "X-OJS-Tenant") == tenant


@pytest.mark.parametrize(
    "tenant",
    ["", "_default", "-a", ".a", "a b", "a/b", "ä", "a\n", "x" * (MAX_TENANT_LENGTH + 1), 7, None],
)
def test_other_ids_are_refused_by_name(tenant: JsonValue) -> None:
    """The error names the field, and no more than the beginning of what came."""
    with pytest.raises(InvalidRequestError) as refused:
        check_tenant(tenant, "meta.tenant_id")
    assert refused.value.details["field"] == "meta.tenant_id"


@pytest.mark.parametrize(
    ("meta", "after"),
    [
        ("{}", '{"tenant_id":"acme"}'),
        ("{ }", '{"tenant_id":"acme"}'),
        ('{"b": 1.50, "a":[ 1 ]}', '{"b": 1.50, "a":[ 1 ],"tenant_id":"acme"}'),
        ('{"n":12345678901234567890} ', '{"n":12345678901234567890,"tenant_id":"acme"}'),
        ('{"tenant_id": "acme"}', '{"tenant_id": "acme"}'),
        (r'{"tenant\u005fid": "acme"}', r'{"tenant\u005fid": "acme"}'),
    ],
)
def test_all_other_bytes_stay_as_they_came(meta: str, after: str) -> None:
    """The tenant goes behind the other members, and only where there is none."""
    job = Job.from_json(f'{{"type":"a.b","args":[1.0],"meta":{meta}}}')
    put_tenant(job, "acme")
    assert job.text("meta") == after
    assert json.loads(after) == job.meta
    assert tenant_of(job) == "acme"
    assert job.text("args") == "[1.0]"


def test_a_job_without_metadata_gets_some() -> None:
    """From a body, and from values of Python."""
    for job in (Job.from_json('{"type":"a.b","args":[]}'), Job("a.b")):
        assert not names_tenant(job)
        put_tenant(job, "acme")
        assert job.members()["meta"] == '{"tenant_id":"acme"}'


@pytest.mark.parametrize("meta", ['{"tenant_id":"beta"}', r'{"tenant\u005fid":"beta"}'])
def test_another_tenant_in_the_body_is_a_conflict(meta: str) -> None:
    """Section 5.3: 400, and it names the place and not the other tenant."""
    job = Job.from_json(f'{{"type":"a.b","args":[],"meta":{meta}}}')
    with pytest.raises(InvalidRequestError) as refused:
        put_tenant(job, "acme", "jobs[3].")
    assert refused.value.details["field"] == "jobs[3].meta.tenant_id"
    assert job.text("meta") == meta


def test_metadata_of_another_type_are_left_for_push_to_refuse() -> None:
    """Nothing is put into what is no object."""
    job = Job.from_json('{"type":"a.b","args":[],"meta":[]}')
    put_tenant(job, "acme")
    assert job.text("meta") == "[]"


def test_a_uniqueness_key_is_of_its_tenant() -> None:
    """Two tenants never share one; a job without a policy has none."""
    keys = {key_of_tenant(tenant, key) for tenant in ("a", "b") for key in ("1" * 64, "2" * 64)}
    assert len(keys) == 4
    assert all(len(key) == 64 for key in keys)
    assert key_of_tenant("a", "") == ""
