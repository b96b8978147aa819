"""Jobs know the request, the trace and the user that enqueued them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path

from ojs_aws import Job
from ojs_aws.contrib.django import enqueue_after_commit, request_meta
from ojs_aws.testing import Ojs
from tests.contrib.django.shop.jobs import acount, welcome

TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MIDDLEWARE: Final = "ojs_aws.contrib.django.middleware.RequestContextMiddleware"


def order(request: HttpRequest) -> HttpResponse:
    enqueue_after_commit(welcome.call(1))
    return HttpResponse()


def order_for_user(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    return order(request)


async def aorder(request: HttpRequest) -> HttpResponse:
    request_meta()["tenant_id"] = "t1"
    await acount.enqueue(1)
    return HttpResponse()


urlpatterns = [path("order", order), path("user", order_for_user), path("async", aorder)]


@pytest.fixture(autouse=True)
def urls() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[MIDDLEWARE, *settings.MIDDLEWARE]):
        yield


def sent(ojs: Ojs) -> Job:
    [job] = ojs.all_enqueued()
    return job


def signed_in() -> tuple[Client, Any]:
    from django.contrib.auth.models import User

    user, _ = User.objects.get_or_create(username="ada")
    client = Client()
    client.force_login(user)
    return client, user


def test_a_job_has_the_id_and_the_trace_of_its_request(ojs: Ojs) -> None:
    headers = {"X-Request-ID": "r-1", "traceparent": TRACE, "tracestate": "a=1"}
    assert Client().get("/order", headers=headers).headers["X-Request-ID"] == "r-1"
    meta = {"ojs.context.request_id": "r-1", "traceparent": TRACE, "tracestate": "a=1"}
    assert sent(ojs).meta == meta


def test_a_job_has_the_user_whom_the_view_has_asked_for(ojs: Ojs) -> None:
    client, user = signed_in()
    answer = client.get("/user")
    meta = {
        "ojs.context.request_id": answer.headers["X-Request-ID"],
        "ojs.context.user_id": str(user.pk),
    }
    assert sent(ojs).meta == meta


def test_no_user_is_loaded_for_a_job(ojs: Ojs) -> None:
    client, _ = signed_in()
    client.get("/order")
    assert "ojs.context.user_id" not in sent(ojs).meta


async def test_an_asynchronous_view_has_a_context_too(ojs: Ojs) -> None:
    answer = await AsyncClient().get("/async")
    [job] = ojs.all_enqueued()
    request_id = answer.headers["X-Request-ID"]
    assert job.meta == {"ojs.context.request_id": request_id, "tenant_id": "t1"}


def test_a_row_of_the_outbox_has_it(ojs: Ojs) -> None:
    with override_settings(OJS={"OUTBOX": {}}):
        Client().get("/order", headers={"X-Request-ID": "r-2"})
    assert sent(ojs).meta == {"ojs.context.request_id": "r-2"}
