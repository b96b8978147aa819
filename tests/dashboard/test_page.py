"""What holds for the whole page: exact data, path prefix, keyboard, narrow screens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from ojs_aws.dashboard.files import answer_file
from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import push, push_text
from tests.dashboard.views import VIEWS
from tests.load import HUNG_S

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ARGS: Final = (
    '[{"zeta":1,"alpha":12345678901234567890123,"7":1.50,"big":1e3,"text":"\\u0041\\u00e9\\n\\"",'
    '"html":"<img src=x onerror=alert(1)><script>alert(2)</script>"},[],{}]'
)


def push_exact(api: httpx.Client, queue: str) -> str:
    """Enqueue a job whose arguments any other JSON reader would change."""
    options = f'"options":{{"queue":"{queue}"}}'
    return push_text(api, f'{{"type":"exact.data","args":{ARGS},"meta":{{"b":1.0}},{options}}}')


def test_client_data_is_shown_exactly_as_it_was_sent(tab: Tab, api: httpx.Client) -> None:
    """Big integers, order of keys, escapes; and data that is HTML and script is text."""
    job_id = push_exact(api, "exact")
    page = tab.open(f"jobs/{job_id}", "exact.data")
    section = page.locator("section", has=page.get_by_role("heading", name="Arguments"))
    section.get_by_role("button", name="As sent", exact=True).click()
    assert section.locator("pre").inner_text() == ARGS
    section.get_by_role("button", name="Indented").click()
    assert json.loads(section.locator("pre").inner_text()) == json.loads(ARGS)
    assert page.locator("main img, main script").count() == 0


def test_progress_checkpoint_and_result_are_shown_as_sent(tab: Tab, api: httpx.Client) -> None:
    """What a worker reports while it runs the job, and what it returns."""
    job_id = push(api, "reported")
    api.post("workers/fetch", json={"worker_id": "w-2", "queues": ["reported"], "count": 1})
    reports = {
        "progress": '{"progress":0.4,"message":"<i>half</i>","data":{"big":12345678901234567890}}',
        "checkpoint": '{"state":{"at":1.50}}',
    }
    json_text = {"Content-Type": "application/json"}
    for name, report in reports.items():
        api.put(f"jobs/{job_id}/{name}", content=report, headers=json_text).raise_for_status()
    page = tab.open(f"jobs/{job_id}", "report.build")
    tab.says("40 % <i>half</i>")
    assert page.get_by_label("Progress data").inner_text() == '{"big":12345678901234567890}'
    assert '"state":{"at":1.50}' in "".join(page.get_by_label("Checkpoint").inner_text().split())
    timeline = page.locator(".timeline li", has_text="reservation ends")
    assert "Still to come" in timeline.inner_text()
    ack = f'{{"worker_id":"w-2","job_id":"{job_id}","result":{{"n":1e2}}}}'
    api.post("workers/ack", content=ack, headers=json_text).raise_for_status()
    assert page.get_by_label("Result").inner_text() == '{"n":1e2}'


def test_a_copy_is_enqueued_from_the_source_text(tab: Tab, api: httpx.Client) -> None:
    """The copy's arguments are those of the first job, byte for byte, and it has its own id."""
    job_id = push_exact(api, "copied")
    page = tab.open(f"jobs/{job_id}", "exact.data")
    page.get_by_text("Enqueue a copy").first.click()
    page.get_by_role("button", name="Enqueue a copy").click()
    page.wait_for_url(lambda url: job_id not in url)
    copy = page.url.rpartition("/")[2]
    text = api.get(f"jobs/{copy}").text
    assert f'"args":{ARGS}' in text
    assert '"meta":{"b":1.0}' in text
    assert '"queue":"copied"' in text


def test_a_copy_that_is_sent_again_exists_once(tab: Tab, api: httpx.Client) -> None:
    """The first answer is lost on its way; whoever tries again makes no second job."""
    job_id = push_exact(api, "once")
    page = tab.open(f"jobs/{job_id}", "exact.data")

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()
        page.unroute("**/ojs/v1/jobs")

    page.get_by_text("Enqueue a copy").first.click()
    page.route("**/ojs/v1/jobs", lose)
    page.get_by_role("button", name="Enqueue a copy").click()
    tab.says("The server cannot be reached.")
    page.get_by_role("button", name="Enqueue a copy").click()
    page.wait_for_url(lambda url: job_id not in url)
    found = api.get("admin/jobs", params={"queue": "once"}).json()["items"]
    assert {job["id"] for job in found} == {job_id, page.url.rpartition("/")[2]}
    tab.complaints = [each for each in tab.complaints if "ERR_FAILED" not in each]


def test_a_job_is_written_as_programs_that_enqueue_it(tab: Tab, api: httpx.Client) -> None:
    """curl and Python send the envelope as it is."""
    job_id = push_exact(api, "programs")
    page = tab.open(f"jobs/{job_id}", "exact.data")
    page.get_by_text("As curl, Python and ojs-aws").click()
    assert ARGS in page.get_by_label("curl").inner_text()
    python = page.get_by_label("Python").inner_text()
    compile(python, "job.py", "exec")
    line = next(line for line in python.splitlines() if "from_json" in line)
    envelope = eval(line.partition("from_json(")[2][:-1])  # noqa: S307 - a literal of our own page
    assert f'"args":{ARGS}' in envelope
    command = page.get_by_label("ojs-aws", exact=True).inner_text()
    assert command.startswith("ojs-aws enqueue exact.data '[")
    assert "# Without meta.b:" in command


def test_a_job_id_in_the_search_box_opens_the_job(tab: Tab, api: httpx.Client) -> None:
    """Also one that is pasted anywhere else."""
    first, second = push(api, "searched"), push(api, "searched")
    page = tab.open("", "Overview")
    tab.search(f" {first} ")
    page.get_by_text(first).first.wait_for()
    paste = """id => { const data = new DataTransfer(); data.setData("text", id);
        document.body.dispatchEvent(new ClipboardEvent("paste",
            { clipboardData: data, bubbles: true })); }"""
    page.evaluate(paste, second)
    page.get_by_text(second).first.wait_for()


@pytest.fixture
def prefixed(server: str) -> Iterator[str]:
    """The address of a proxy that shows the page and the API below a path."""
    from werkzeug.serving import make_server

    def proxy(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if not path.startswith("/ops/jobs/"):
            start_response("404 Not Found", [])
            return [b""]
        inner = path.removeprefix("/ops/jobs")
        page = answer_file(inner, {})
        if page is not None:
            start_response("200 OK", list(page.headers.items()))
            return [page.body]
        passed = httpx.get(f"{server}{inner}?{environ['QUERY_STRING']}", timeout=HUNG_S)
        start_response(f"{passed.status_code} OK", [("Content-Type", "application/json")])
        return [passed.content]

    proxied = make_server("127.0.0.1", 0, proxy, threaded=True)
    thread = Thread(target=proxied.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{proxied.server_port}/ops/jobs"
    proxied.shutdown()
    thread.join()
    proxied.server_close()


def test_the_page_works_below_a_path_prefix(browser: Any, prefixed: str) -> None:
    """Page, files and API are all asked for below it."""
    context = browser.new_context()
    tab = Tab(context.new_page(), prefixed)
    tab.open("", "Overview")
    tab.says("Jobs by state")
    assert all(url.startswith((prefixed, "data:")) for url in tab.requests)
    tab.check()
    context.close()


@pytest.mark.parametrize(("view", "heading"), VIEWS)
def test_a_view_fits_a_narrow_screen(browser: Any, server: str, view: str, heading: str) -> None:
    """At 360 pixels nothing but tables scrolls sideways; dark colours are used where asked for."""
    context = browser.new_context(
        viewport={"width": 360, "height": 640}, color_scheme="dark", reduced_motion="reduce"
    )
    tab = Tab(context.new_page(), server)
    page = tab.open(view, heading)
    page.get_by_text("Live · ").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 17, 20)"
    tab.check()
    context.close()


def test_every_control_has_a_name_and_the_keyboard_reaches_it(tab: Tab) -> None:
    """And what has the focus can be seen."""
    page = tab.open("", "Overview")
    tab.says("Jobs by state")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "heading"
    nameless = """() => [...document.querySelectorAll("button, a, input, select")]
        .filter((each) => !(each.innerText || each.labels?.[0]?.innerText || each.ariaLabel))
        .map((each) => each.outerHTML)"""
    assert page.evaluate(nameless) == []
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_times_switch_between_local_and_utc(tab: Tab, api: httpx.Client) -> None:
    """The choice stays after a reload."""
    job_id = push(api, "times")
    page = tab.open(f"jobs/{job_id}", "report.build")
    page.get_by_role("button", name="Times:").click()
    page.locator(".timeline time", has_text="UTC").first.wait_for()
    page.reload()
    page.locator(".timeline time", has_text="UTC").first.wait_for()
    assert page.locator(".timeline time").first.get_attribute("title")


def test_a_server_that_asks_to_wait_is_left_alone(tab: Tab) -> None:
    """A 429 is shown, and nothing is asked for until its Retry-After has passed."""
    page = tab.page
    refusals: list[str] = []

    def refuse(route: Any) -> None:
        refusals.append(route.request.url)
        error = {"error": {"code": "rate_limited", "message": "Too many requests."}}
        route.fulfill(status=429, headers={"Retry-After": "60"}, body=json.dumps(error))

    page.clock.install()
    page.route("**/ojs/v1/**", refuse)
    tab.open("queues")
    tab.says("Too many requests.")
    page.clock.run_for(59_000)
    assert len(refusals) == 1
    page.unroute("**/ojs/v1/**")
    page.clock.run_for(2_000)
    page.get_by_role("columnheader", name="Queue").wait_for()
    tab.complaints = [each for each in tab.complaints if "429" not in each]


def test_updates_stop_after_30_minutes_without_input(tab: Tab) -> None:
    """And go on when somebody comes back."""
    page = tab.page
    page.clock.install()
    tab.open("queues", "Queues")
    page.get_by_text("Live · ").wait_for()
    page.clock.fast_forward(31 * 60_000)
    page.clock.run_for(20_000)
    tab.says("Updates stopped after 30 minutes without input.")
    asked = len(tab.requests)
    page.clock.run_for(120_000)
    assert len(tab.requests) == asked
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("Live · ").wait_for()
