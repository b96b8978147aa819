"""What the shop does in the background."""

from __future__ import annotations

from examples.django_shop.models import Order
from ojs_aws import Jobs

jobs = Jobs()


@jobs.job("shop.confirm", queue="orders")
def confirm(order_id: int) -> str:
    Order.objects.filter(pk=order_id).update(state="is confirmed")
    return f"order {order_id} is confirmed"
