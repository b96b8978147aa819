"""A PostgreSQL of the machine, in a temporary folder, for tests of the outbox."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.load import HUNG_S, wait_until

PLACES: Final = Path("/usr/lib/postgresql")
USER: Final = "nobody"
"""Who runs it where the tests run as root, whom PostgreSQL refuses."""


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs; None if there is none."""
    found = sorted(PLACES.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path else None


class Postgres:
    """One server; it can be killed, and started again over the same data."""

    def __init__(self, folder: Path, bin_folder: Path, *, is_synced: bool = False) -> None:
        """Make the database's files.

        :param is_synced: whether commits wait for the disk. A kill loses nothing without; a power
            failure would.
        """
        self.folder = folder
        self._is_synced = is_synced
        self._bin = bin_folder
        self._as: dict[str, int | str] = {}
        if os.getuid() == 0:
            account = pwd.getpwnam(USER)
            self._as = {"user": account.pw_uid, "group": account.pw_gid}
            os.chown(folder, account.pw_uid, account.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._server: subprocess.Popen[bytes] | None = None
        options = ["-D", str(folder / "data"), "-U", "ojs", "--auth=trust", "--no-sync"]
        self._call("initdb", *options)

    @property
    def url(self) -> str:
        """Return the address for SQLAlchemy, with psycopg."""
        return f"postgresql+psycopg://ojs@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers; it recovers by itself from a kill."""
        settings = ["-c", "shared_buffers=32MB", "-c", "max_connections=60", "-k", str(self.folder)]
        settings += [] if self._is_synced else ["-c", "fsync=off"]
        log = (self.folder / "log").open("ab")
        with log:
            self._server = subprocess.Popen(
                [
                    self._bin / "postgres",
                    "-D",
                    self.folder / "data",
                    "-p",
                    str(self.port),
                    *settings,
                ],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._as,  # type: ignore[call-overload]
            )
        ready = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "ojs", "-t", "30", "-q"]
        give_up_at = time.monotonic() + HUNG_S
        while subprocess.run([self._bin / "pg_isready", *ready], check=False).returncode:
            if self._server.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError((self.folder / "log").read_text()[-5000:])
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once: no process of it gets to write anything, or to tell its clients."""
        if self._server is not None:
            self._server.send_signal(signal.SIGSTOP)  # it starts no more processes
            family = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
            children = family.read_text().split()
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
            self._server.kill()
            self._server.wait()
            self._server = None
            wait_until(
                lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children),
                "the end of PostgreSQL's processes",
            )
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """End it in order."""
        if self._server is not None:
            self._call("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
            self._server.wait()
            self._server = None

    def empty(self) -> None:
        """Drop all tables, and end the connections that a test has left open."""
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
        )
        self.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def query(self, statement: str) -> str:
        """Run a statement by psql, and return what it prints."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "ojs", "-d", "postgres"]
        return self._call("psql", "-qtA", *address, "-c", statement)

    def _call(self, program: str, *arguments: str) -> str:
        command: Sequence[str | Path] = [self._bin / program, *arguments]
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            cwd=self.folder,
            **self._as,  # type: ignore[call-overload]
        )
        return str(done.stdout).strip()
