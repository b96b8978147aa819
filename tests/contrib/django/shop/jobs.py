"""The jobs of an installed app."""

from __future__ import annotations

from django.db import connections

from ojs_aws import Jobs

jobs = Jobs()


@jobs.job("shop.welcome", queue="email")
def welcome(number: int) -> int:
    return number


@jobs.job("shop.count")
def count() -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT 3")
        return int(cursor.fetchone()[0])


@jobs.job("shop.acount")
async def acount(number: int) -> int:
    return number
