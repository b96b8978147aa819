"""Make tables of the documentation from the code: routes and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from ojs_aws.domain.errors import OjsError


_TITLES: Final = {
    "clients": "Operations of other clients",
    "outcomes": "Results, progress and checkpoints",
    "system": "The server",
}
"""Headings of the features whose name is not the heading."""


class Routes(SphinxDirective):
    """Lists the operations of the HTTP API by feature."""

    def run(self) -> list[nodes.Node]:
        """Return a heading and a table for each feature."""
        from ojs_aws.transport.http.routes import ROUTES, Route  # noqa: PLC0415

        features: dict[str, list[Route]] = {}
        for route in ROUTES:
            features.setdefault(route.module.partition(".")[0], []).append(route)
        lines: list[str] = []
        for feature, routes in features.items():
            title = _TITLES.get(feature, feature.replace("_", " ").capitalize())
            lines += [f"## {title}", ""]
            lines += ["| operation | request | answers |", "|---|---|---|"]
            lines += [
                f"| {route.summary} | `{route.method} {route.path}` "
                f"| {', '.join(map(str, (*route.statuses, *route.errors)))} |"
                for route in routes
            ]
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class Errors(SphinxDirective):
    """Lists the error codes."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each class that has a code of its own."""
        from ojs_aws.domain import access  # noqa: PLC0415
        from ojs_aws.domain.errors import OjsError  # noqa: PLC0415

        rows = {
            (kind.status, kind.code, str(kind.retryable).lower(), _first_line(kind))
            for kind in _family(OjsError, OjsError.__module__, access.__name__)
        }
        lines = ["| status | code | retryable | meaning |", "|---|---|---|---|"]
        for status, code, again, meaning in sorted(rows):
            lines.append(f"| {status} | `{code}` | {again} | {meaning} |")
        return self.parse_text_to_nodes("\n".join(lines))


def _family(kind: type[OjsError], *modules: str) -> Iterator[type[OjsError]]:
    """Return the errors of the catalogue."""
    for child in kind.__subclasses__():
        if child.__module__ in modules:
            yield child
            yield from _family(child, *modules)


def _first_line(kind: type[OjsError]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("ojs-routes", Routes)
    app.add_directive("ojs-errors", Errors)
    return {"parallel_read_safe": True}
