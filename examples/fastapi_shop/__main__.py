"""Start the shop: a backend, the worker, and uvicorn with the outbox's relay in it.

pip install uvicorn
python -m examples.fastapi_shop [--port 8000]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from examples.shop_processes import CHECKOUT, port, serve_shop, start, start_backend


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    asked = port()
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fastapi-shop-"))
        os.environ["SHOP_DATABASE"] = f"sqlite:///{Path(folder) / 'shop.db'}"
        create_tables = [sys.executable, "-m", "examples.fastapi_shop.orders"]
        subprocess.run(create_tables, cwd=CHECKOUT, check=True)  # not by each process at its start
        start_backend(stack)
        command = ["uvicorn", "examples.fastapi_shop.app:app", "--port", str(asked)]
        start(stack, "ojs_aws.cli", "run", "examples.fastapi_shop.worker:worker")
        serve_shop(stack, command, says="Uvicorn running on")


if __name__ == "__main__":
    main()
