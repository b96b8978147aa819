"""The page of the shop."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from examples.django_shop.jobs import confirm
from examples.django_shop.models import Order
from ojs_aws.contrib.django import enqueue_after_commit


@require_GET
def shop(request: HttpRequest) -> HttpResponse:
    return render(request, "shop.html", {"orders": Order.objects.order_by("-pk")[:10]})


@require_POST
def place_order(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():  # the order and its job, or neither
        order = Order.objects.create()
        enqueue_after_commit(confirm.call(order.pk))
    return redirect("/")
