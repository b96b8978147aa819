"""The files of the dashboard, as whoever serves the page gets them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from ojs_aws.cli.local import _welcome
from ojs_aws.dashboard import files
from ojs_aws.dashboard.files import STATIC, FileAnswer, answer_file, wants_page
from ojs_aws.domain.jobs.attributes import SYSTEM_ATTRIBUTES
from ojs_aws.local import LocalOptions
from ojs_aws.local.http import Page
from ojs_aws.local.server import LocalServer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

WEB = Path(files.__file__).parent / "web"
NAMES = sorted(
    path.relative_to(STATIC).as_posix()
    for path in STATIC.rglob("*")
    if path.is_file() and path.suffix != ".gz"
)
HASHED = [name for name in NAMES if name.startswith("assets/")]
LATER = [name for name in HASHED if name.startswith(("assets/oidc-", "assets/seldom-"))]
"""Loaded when somebody signs in at an issuer or opens a view that few do, and not before."""
PLAIN = [name for name in NAMES if not name.startswith("assets/")]


def found(path: str, **headers: str) -> FileAnswer:
    """Return the answer to a request that has one."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = answer_file(path, named)
    assert answer is not None
    return answer


class Links(HTMLParser):
    """Collects what a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a script or a style sheet."""
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.found += [value for name, value in attrs if name in {"src", "href"} and value]


def page_links() -> Links:
    """Return what the page loads."""
    links = Links()
    links.feed(found("/").body.decode())
    return links


@pytest.mark.parametrize("path", ["", "/", "/index.html"])
def test_the_page_is_html_and_asked_for_again_each_time(path: str) -> None:
    """A new version of the page is seen at once; its files have new names."""
    answer = found(path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize("name", HASHED)
def test_hashed_files_may_be_kept_for_ever(name: str) -> None:
    """Their names change with their content."""
    assert found(name).headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("name", NAMES)
def test_every_file_has_the_policy_and_a_type(name: str) -> None:
    """Nothing foreign is run, framed, or guessed to be another type."""
    headers = found(name).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert policy.endswith("; require-trusted-types-for 'script'")
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    kind = headers["Content-Type"]
    assert kind == "font/woff2" if name.endswith(".woff2") else kind.endswith("; charset=utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_packed_file_unpacks_to_the_plain_one(name: str) -> None:
    """And is sent only to clients that can unpack it; the two have tags of their own."""
    plain, packed = found(name), found(name, accept_encoding="br, gzip;q=0.8")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert found(name, accept_encoding="gzip;q=0").body == plain.body
    assert "Accept-Encoding" in plain.headers["Vary"]


def test_a_known_tag_is_answered_without_the_file() -> None:
    """A browser that has the page asks only whether it is still the same."""
    first = found("/")
    again = found("/", if_none_match=f'W/"other", W/{first.headers["ETag"]}')
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert found("/", if_none_match='"other"').status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../files.py",
        "/assets/../../files.py",
        "//etc/passwd",
        "/etc/passwd",
        "/assets/",
        "/index.html.gz",
        "/%2e%2e/files.py",
        "/index.html/",
        "/ojs/v1/jobs",
    ],
)
def test_nothing_but_the_files_of_the_page_is_found(path: str) -> None:
    """No path leads out of the folder."""
    assert answer_file(path, {}) is None


def test_the_page_works_below_any_path() -> None:
    """All that it loads is addressed relative to it, and there is no base."""
    links = page_links()
    loaded = [link for link in links.found if not link.startswith("data:")]
    style = next(name for name in loaded if name.endswith(".css"))
    fonts = re.findall(r'url\("?\./([^")]+)"?\)', found(style).body.decode())
    assert sorted([*loaded, *LATER, *(f"assets/{name}" for name in fonts)]) == HASHED
    assert len(fonts) == 2
    assert len(LATER) == 2
    assert "base" not in links.tags


def test_the_page_has_no_inline_script_or_style() -> None:
    """The policy would refuse it."""
    links = page_links()
    assert "style" not in links.tags
    assert not [name for name in links.attributes if name == "style" or name.startswith("on")]
    assert re.search(rb"<script[^>]*>[^<]", found("/").body) is None


def test_the_page_is_small() -> None:
    """Under 260 KB of scripts, styles, icons and fonts, unpacked; a script and a style at first.

    What signs in at an issuer and seldom opened views are loaded when needed, and do not count.
    """
    counted = [name for name in HASHED if name not in LATER]
    assert {Path(name).suffix for name in counted} == {".css", ".js", ".woff2"}
    assert sum((STATIC / name).stat().st_size for name in counted) < 260_000
    assert len(page_links().found) + 1 <= 6


def test_what_is_bundled_has_its_licence_beside_it() -> None:
    """Each package of the page, with the text of its licence."""
    text = found("/LICENSES.txt").body.decode()
    packages = ["preact 1", "@preact/signals 2", "@preact/signals-core 1", "oauth4webapi 3"]
    packages += ["uplot 1", "lucide 1", "@fontsource-variable/inter 5"]
    for name in (*packages, "@fontsource-variable/jetbrains-mono 5"):
        assert name in text
    assert text.count("Permission is hereby granted") == 7  # two have the same text
    assert text.count("SIL OPEN FONT LICENSE Version 1.1") == 2
    assert "ISC License" in text


@pytest.mark.parametrize("name", [name for name in NAMES if name != "LICENSES.txt"])
def test_the_built_files_name_no_other_host(name: str) -> None:
    """Nothing is loaded from elsewhere; the names of XML are no addresses to load."""
    text = found(name).body.decode(errors="replace")
    hosts = set(re.findall(r"https?://([\w.-]+)", text)) - {"www.w3.org", "127.0.0.1"}
    assert hosts == set()


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("application/json, text/html;q=0.5", True),
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("text/html;q=0", False),
    ],
)
def test_the_page_is_for_those_who_accept_html(accept: str, *, is_page: bool) -> None:
    """A program that asks for anything gets JSON, as before."""
    assert wants_page(accept) is is_page


def ask_local_server(method: str, path: str, accept: str) -> str:
    """Return which of the two answered a request, and with which status."""
    said: list[str] = []

    def api(_: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("404 API", [])
        return [b""]

    def start(status: str, *_: object) -> None:
        said.append(status)

    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_ACCEPT": accept}
    body = b"".join(Page(api)(environ, start))  # type: ignore[arg-type]
    return f"{said[0]} {'page' if body.startswith(b'<!doctype') else ''}".strip()


@pytest.mark.parametrize(
    ("method", "path", "accept", "expected"),
    [
        ("GET", "/", "text/html", "200 OK page"),
        ("HEAD", "/", "text/html", "200 OK"),
        ("GET", "/", "application/json", "404 API"),
        ("POST", "/", "text/html", "404 API"),
        ("GET", "/ojs/v1/jobs", "text/html", "404 API"),
        ("GET", "/LICENSES.txt", "*/*", "200 OK"),
    ],
)
def test_the_local_server_shows_the_page_beside_the_api(
    method: str, path: str, accept: str, expected: str
) -> None:
    """Only GET and HEAD of the page's own files are taken from the API."""
    assert ask_local_server(method, path, accept) == expected


def test_the_local_server_names_the_environment_on_the_page() -> None:
    """As `ojs-aws local --environment` says; without it the page reads the host's name."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_ACCEPT": "text/html"}
    pages = [
        b"".join(Page(lambda *_: [b""], name)(environ, lambda *_: print)) for name in ("dev", "")
    ]
    assert [b'name="ojs-environment" content="dev"' in page for page in pages] == [True, False]


@pytest.mark.parametrize("keys", [{}, {"producer": "ojs_1", "operator": "ojs_2"}])
def test_the_start_of_the_local_server_names_the_page(keys: dict[str, str]) -> None:
    """With keys and without."""
    server = LocalServer(LocalOptions(), {})
    server.keys = keys
    server._server = SimpleNamespace(server_port=8099)  # type: ignore[assignment]
    assert "Dashboard: open http://127.0.0.1:8099/ in a browser" in _welcome(server)


def test_a_copy_of_a_job_leaves_out_what_the_system_sets() -> None:
    """The list in the page names every such attribute, and the id."""
    text = (WEB / "src" / "pages" / "job_copy.tsx").read_text()
    found = re.search(r"NOT_COPIED.*?\[(.*?)\]", text, re.DOTALL)
    assert found is not None
    assert {"id", *SYSTEM_ATTRIBUTES} <= set(re.findall(r'"(\w+)"', found[1]))


def test_no_source_file_is_over_300_lines() -> None:
    """So that each fits the head, in TypeScript too."""
    sources = [path for path in (WEB / "src").rglob("*.*") if path.suffix in {".ts", ".tsx"}]
    assert sources
    assert [path.name for path in sources if len(path.read_text().splitlines()) > 300] == []
