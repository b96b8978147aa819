"""The clients: where their check-outs are, how a copy is built, and the command that drives it.

A check-out is left as it is: everything is built in a copy. What a client needs comes from the
package registries by their own tools.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DRIVERS: Final = Path(__file__).parent / "drivers"
BUILD_S: Final = 1200
_NOT_COPIED: Final = (".git", "node_modules", "dist", ".venv")


class BuildError(Exception):
    """A client could not be built; the message has what its tools said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An official client.

    :ivar variable: the environment variable that names its check-out.
    :ivar tools: programs that building and driving it need.
    :ivar build: makes a driver in a folder of its own; returns the command and its environment.
    """

    name: str
    title: str
    variable: str
    tools: tuple[str, ...]
    build: Callable[[Path, Path], tuple[list[str], Mapping[str, str]]]

    def missing(self, environ: Mapping[str, str]) -> str:
        """Return why the client cannot be driven here; empty when it can."""
        place = environ.get(self.variable, "")
        if not place:
            return f"{self.variable} names no check-out of {self.title}"
        if not Path(place).is_dir():
            return f"{self.variable}={place} is no folder"
        absent = [tool for tool in self.tools if shutil.which(tool) is None]
        return f"there is no {', '.join(absent)} here" if absent else ""

    def built(
        self, environ: Mapping[str, str], folder: Path
    ) -> tuple[list[str], Mapping[str, str]]:
        """Build a copy of the check-out in a folder.

        :raises BuildError: its tools fail.
        """
        copy = folder / self.name
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(environ[self.variable], copy, ignore=ignored)
        return self.build(copy, folder)


def _run(command: Sequence[str], cwd: Path, *, may_fail: bool = False) -> None:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode and not may_fail:
        said = f"{done.stdout}\n{done.stderr}".strip()[-2000:]
        raise BuildError(f"{' '.join(command)} failed:\n{said}")


def _python(copy: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """The SDK imports cryptography, which it does not name as a dependency."""
    place = folder / "python-venv"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    _run([python, "-m", "pip", "install", "-q", str(copy), "cryptography"], folder)
    return [python, str(DRIVERS / "python_sdk.py")], {}


def _javascript(copy: Path, _: Path) -> tuple[list[str], Mapping[str, str]]:
    """Its types do not check, but the compiler still writes JavaScript."""
    _run(["npm", "ci", "--silent", "--ignore-scripts"], copy)
    _run(["npx", "tsc", "-p", "tsconfig.json"], copy, may_fail=True)
    if not (copy / "dist" / "esm" / "index.js").exists():
        raise BuildError("tsc wrote no dist/esm/index.js")
    return ["node", str(DRIVERS / "javascript_sdk.mjs")], {"OJS_SDK": str(copy)}


def _go(copy: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    driver, binary = folder / "go-driver", folder / "go-driver-binary"
    shutil.copytree(DRIVERS / "go_sdk", driver)
    replacement = f"github.com/openjobspec/ojs-go-sdk={copy}"
    _run(["go", "mod", "edit", "-replace", replacement], driver)
    _run(["go", "build", "-mod=mod", "-o", str(binary), "."], driver)
    return [str(binary)], {}


def _ruby(copy: Path, _: Path) -> tuple[list[str], Mapping[str, str]]:
    """``ojs.rb`` requires two files that the check-out lacks; empty ones stand for them."""
    for name in ("agent", "attest"):
        file = copy / "lib" / "ojs" / f"{name}.rb"
        if not file.exists():
            file.touch()
    return ["ruby", "-I", str(copy / "lib"), str(DRIVERS / "ruby_sdk.rb")], {}


def _cli(copy: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """Two files need a module that is not published; no command uses them, so they are left out."""
    commands = copy / "cmd" / "ojs" / "commands"
    left_out = {str(commands / name): "" for name in ("create.go", "migrate_live.go")}
    overlay, binary = folder / "cli-overlay.json", folder / "ojs-cli-binary"
    overlay.write_text(json.dumps({"Replace": left_out}))
    build = ["go", "build", "-mod=mod", "-overlay", str(overlay), "-o", str(binary), "./cmd/ojs"]
    _run(build, copy)
    return [sys.executable, str(DRIVERS / "ojs_cli.py")], {"OJS_BINARY": str(binary)}


def _admin_ui(copy: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """Its types do not check, but vite still bundles it; Chromium is this machine's."""
    _run(["npm", "ci", "--silent", "--ignore-scripts"], copy)
    _run(["npx", "vite", "build"], copy)
    place = folder / "ui-venv"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    _run([python, "-m", "pip", "install", "-q", "playwright", "httpx"], folder)
    chromium = shutil.which("chromium") or ""
    environ = {"OJS_UI": str(copy / "dist-app"), "OJS_CHROMIUM": chromium}
    return [python, str(DRIVERS / "admin_ui.py")], environ


CLIENTS: Final = (
    # These two first, while the server has few queues: the UI shows no more than fifty.
    Client(
        name="ui",
        title="ojs-admin-ui",
        variable="OJS_ADMIN_UI",
        tools=("npm", "npx", "chromium"),
        build=_admin_ui,
    ),
    Client(name="cli", title="ojs-cli", variable="OJS_CLI", tools=("go",), build=_cli),
    Client(
        name="python",
        title="ojs-python-sdk",
        variable="OJS_PYTHON_SDK",
        tools=(),
        build=_python,
    ),
    Client(
        name="javascript",
        title="ojs-js-sdk",
        variable="OJS_JS_SDK",
        tools=("node", "npm"),
        build=_javascript,
    ),
    Client(name="go", title="ojs-go-sdk", variable="OJS_GO_SDK", tools=("go",), build=_go),
    Client(
        name="ruby", title="ojs-ruby-sdk", variable="OJS_RUBY_SDK", tools=("ruby",), build=_ruby
    ),
)


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a driver: without proxies, which would catch its requests."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return kept | dict(more)
