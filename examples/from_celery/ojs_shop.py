"""The shop of celery_shop.py, in ojs-aws.

Start a backend with `ojs-aws local`, set OJS_URL=http://127.0.0.1:8080, then

    ojs-aws run examples.from_celery.ojs_shop:worker

and in another terminal

    python -m examples.from_celery.ojs_shop
"""

from __future__ import annotations

from collections.abc import Callable

from ojs_aws import Jobs, RetryPolicy, SyncClient, SyncJobContext, Worker, chain, current_job, group

jobs = Jobs()


class BankBusyError(Exception):
    """The bank answers later."""


@jobs.job(
    "shop.charge",
    retry=RetryPolicy(max_attempts=4, initial_interval="1ms", retry_on=BankBusyError),
)
def charge(number: int, cents: int) -> int:
    if current_job().attempt == 1:
        raise BankBusyError(number)
    return cents


@jobs.job("shop.send_receipt", queue="mail", context=True)
def send_receipt(ctx: SyncJobContext, to: str) -> str:
    """Ask the context for the result of the step before."""
    return f"receipt for {ctx.parent_results['0']} cents to {to}"


@jobs.job("shop.pack")
def pack(item: str) -> str:
    return f"packed {item}"


@jobs.job("shop.build_report")
def build_report(kind: str) -> str:
    return f"the {kind} is ready"


worker = Worker(jobs)


def register_cron(client: SyncClient) -> None:
    call = build_report.call("summary")
    client.cron.register("daily-report", "0 9 * * MON-FRI", call)


def place_order(number: int, items: list[str], to: str) -> Callable[[], list[str]]:
    """Send everything, and return what waits for the lines to print."""
    paid = chain(charge.call(number, 300), send_receipt.call(to)).enqueue_sync()
    packed = group(*(pack.call(item) for item in items)).enqueue_sync()
    build_report.options(delay="1d").enqueue_sync("summary")
    return lambda: [paid.result(timeout="60s"), *packed.result(timeout="60s")]


def main() -> None:
    register_cron(jobs.sync_client())
    for line in place_order(1, ["book", "pen"], "ada@example.com")():
        print(line)


if __name__ == "__main__":
    main()
