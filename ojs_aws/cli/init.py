"""Implements ``ojs-aws init``: writes a project that runs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from string import Template
from typing import Annotated, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from ojs_aws._version import __version__
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, misuse

TEMPLATES: Final = Path(__file__).with_name("templates")
_COMMON: Final = "common"
_SUFFIX: Final = ".txt"
"""Ends the names of the files in this package: no tool takes them for code or settings of it."""
_HIDDEN: Final = {"gitignore": ".gitignore", "github": ".github"}
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,29}")


class Kind(StrEnum):
    """Names the templates."""

    WORKER = "worker"
    LAMBDA = "lambda"
    FASTAPI = "fastapi"
    DJANGO = "django"
    NODE_LAMBDA = "node-lambda"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Holds what the common files say differently for each template.

    :ivar needs: packages beside ojs-aws.
    :ivar extras: of ojs-aws, for what runs.
    :ivar dev: packages of the tests, beside ojs-aws.
    :ivar test: the command that runs the tests.
    :ivar deploy: the command that deploys.
    :ivar local: the command of the task, in ``.venv/bin``.
    :ivar work: the command of the task.
    :ivar work_help: what that does.
    :ivar source: the folder of the modules.
    :ivar how: what to do by hand, in the common README.
    :ivar files: what each file is, in the README.
    """

    needs: tuple[str, ...] = ()
    extras: str = "cli"
    dev: tuple[str, ...] = ()
    test: str = "$(BIN)/python -m pytest"
    deploy: str = "$(BIN)/ojs-aws deploy --queues email"
    local: str = "ojs-aws local"
    work: str = "$(BIN)/ojs-aws run jobs:worker --reload"
    work_help: str = "Run the worker"
    source: str = "."
    how: str = ""
    files: Mapping[str, str]


_RUN: Final = (
    "In two more terminals, with `OJS_URL=http://127.0.0.1:8080` set, `make work` runs the worker, "
)
_PARTS: Final[Mapping[Kind, _Parts]] = {
    Kind.WORKER: _Parts(
        how=f"{_RUN}and `.venv/bin/python send.py` sends a job.",
        files={
            "jobs.py": "the jobs and their worker",
            "send.py": "sends one",
            "Dockerfile": "the image of the worker",
        },
    ),
    Kind.LAMBDA: _Parts(
        deploy="$(BIN)/ojs-aws deploy --queues email --worker worker",
        local="ojs-aws local --worker jobs:worker",
        work="$(BIN)/ojs-aws enqueue email.send '[\"ada@example.com\"]' -q email --wait",
        work_help="Send a job, and wait for its result",
        source="worker",
        how="The Lambda worker runs inside that backend. In another terminal, with "
        "`OJS_URL=http://127.0.0.1:8080` set, `make work` sends a job and waits for its result.",
        files={"worker/jobs.py": "the jobs and their Lambda handler"},
    ),
    Kind.FASTAPI: _Parts(
        needs=("fastapi>=0.121", "uvicorn>=0.38"),
        dev=("httpx2>=2",),  # of Starlette's TestClient
        how=f"{_RUN}and `.venv/bin/uvicorn app:app --port 8000` the API: `curl -X POST "
        "'http://127.0.0.1:8000/mails?to=ada@example.com'`.",
        files={
            "app.py": "the API",
            "jobs.py": "the jobs and their worker",
            "Dockerfile": "the image of the worker",
        },
    ),
    Kind.DJANGO: _Parts(
        needs=("django>=5.2",),
        work="$(BIN)/ojs-aws run worker:worker --reload",
        how=f"{_RUN}and `DJANGO_DEBUG=1 .venv/bin/python manage.py runserver` the site.",
        files={
            "web/": "the site",
            "jobs.py": "the jobs",
            "worker.py": "their worker, which sets Django up",
            "Dockerfile": "the image of the worker",
        },
    ),
    Kind.NODE_LAMBDA: _Parts(
        extras="cli,local",
        test='PATH="$(CURDIR)/$(BIN):$$PATH" node --test test/*.test.mjs',
        deploy="$(BIN)/pip install -q -e '.[deploy]' && npx --yes aws-cdk@2 deploy",
        work="node --watch local.mjs",
        work_help="Run jobs by the handler, and start it again after a change",
        files={
            "mailer/": "the handler, which is the function",
            "local.mjs": "runs it on this machine",
            "test/": "tests by Node's own test runner",
            "app.py": "the deployment, by the CDK",
            "cdk.json": "names it to the CDK",
        },
    ),
}


app = typer.Typer()


@app.command(epilog="Example: ojs-aws init shop --template worker")
def init(
    folder: Annotated[Path, typer.Argument(help="The project's folder; its name is the name.")],
    template: Annotated[
        Kind, typer.Option("--template", "-t", help="What runs the jobs, and what sends them.")
    ] = Kind.WORKER,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a project that runs: jobs, a worker, tests, tasks, CI, and how to deploy it.

    Nothing is overwritten: if the folder has one of the files, none is written.
    """
    out = Output(as_json=as_json)
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise misuse(
            out,
            f"{name!r} cannot be the project's name: it becomes names of packages and queues.",
            "Use up to 30 letters, digits and hyphens, a letter first.",
        )
    written = {folder / path: text for path, text in files_of(template, name)}
    if taken := sorted(str(path) for path in written if path.exists()):
        out.problem(f"These files exist: {', '.join(taken)}.", "Name a folder that is empty.")
        raise typer.Exit(ExitCode.CONFLICT)
    try:
        for path, text in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise misuse(out, f"{problem.filename} cannot be written: {problem.strerror}.") from None
    shown = [str(path) for path in sorted(written)]
    following = f"Next: cd {folder} && {_find_links()}make setup test"
    out.said("\n".join([*shown, "", following]), {"files": [*shown]})


def _find_links() -> str:
    """Return what tells pip the folder of the wheel that this package was installed from."""
    try:
        source = distribution("ojs-aws").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    url = urlsplit(json.loads(source)["url"] if source else "")
    wheel = Path(url2pathname(url.path))
    if url.scheme != "file" or wheel.suffix != ".whl":
        return ""
    return f"PIP_FIND_LINKS={shlex.quote(str(wheel.parent))} "


def files_of(template: Kind, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of a project, by their paths in its folder; one of the template comes last.

    It replaces a common one of the same path.
    """
    parts = _PARTS[template]
    values = {
        "name": name,
        "stack": "".join(part.capitalize() for part in name.split("-")),
        "template": template.value,
        "dependencies": _listed(f"ojs-aws[{parts.extras}]>={__version__}", *parts.needs),
        "dev": _listed(f"ojs-aws[local,testing]>={__version__}", *parts.dev),
        "source": parts.source,
        "test": parts.test,
        "deploy": parts.deploy,
        "local": parts.local,
        "work": parts.work,
        "work_help": parts.work_help,
        "how": parts.how,
        "files": "\n".join(f"| `{path}` | {what} |" for path, what in parts.files.items()),
    }
    for base in (_COMMON, template.value):
        for path in sorted((TEMPLATES / base).rglob("*")):
            if path.is_file():
                named = path.relative_to(TEMPLATES / base).with_name(
                    path.name.removesuffix(_SUFFIX)
                )
                text = Template(path.read_text(encoding="utf-8")).substitute(values)
                yield Path(*(_HIDDEN.get(part, part) for part in named.parts)), text


def _listed(*packages: str) -> str:
    return ", ".join(f'"{each}"' for each in packages)
