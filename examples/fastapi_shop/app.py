"""The page of the shop, and its dashboard behind a login."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPBasic, HTTPBasicCredentials
from sqlalchemy import select

from examples.fastapi_shop.orders import Order, confirm, jobs, outbox, sessions
from ojs_aws.contrib.fastapi import (
    RequestContext,
    UnitOfWork,
    dashboard,
    lifespan,
    unit_of_work,
)

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<link rel="icon" href="data:,">
<title>Shop</title>
<h1>Shop</h1>
<form method="post" action="/orders"><button>Order a book</button></form>
<ul>{orders}</ul>
<p><a href="/jobs/">Jobs</a></p>
</html>
"""
Work = Annotated[UnitOfWork, unit_of_work(sessions)]

app = FastAPI(lifespan=lifespan(jobs, outbox=outbox))
app.add_middleware(RequestContext)


def signed_in(given: Annotated[HTTPBasicCredentials, Depends(HTTPBasic())]) -> None:
    is_right = secrets.compare_digest(f"{given.username}:{given.password}", "ada:ada")
    if not is_right:
        raise HTTPException(401, headers={"WWW-Authenticate": "Basic"})


app.include_router(dashboard(login=signed_in, changes=signed_in), prefix="/jobs")


@app.get("/", response_class=HTMLResponse)
def shop(work: Work) -> str:
    found = work.session.scalars(select(Order).order_by(Order.id.desc()).limit(10))
    return PAGE.format(orders="".join(f"<li>Order {each.id}: {each.state}</li>" for each in found))


@app.post("/orders")
def place_order(work: Work) -> RedirectResponse:
    order = Order()
    work.session.add(order)
    work.session.flush()
    work.enqueue(confirm.call(order.id))  # the order and its job, or neither
    return RedirectResponse("/", status_code=303)
