"""Start the shop: a backend, the worker, and Django's server with the outbox's relay in it.

python -m examples.django_shop [--port 8000]
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import ExitStack, suppress

import django
from django.core.management import call_command

from examples.shop_processes import port, serve_shop, start, start_backend


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    asked = port()
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="django-shop-"))
        os.environ["SHOP_FOLDER"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "examples.django_shop.settings"
        start_backend(stack)
        django.setup()
        call_command("migrate", run_syncdb=True, verbosity=0)
        os.environ["DJANGO_SUPERUSER_PASSWORD"] = "ada"  # noqa: S105 - on this machine only
        who = {"username": "ada", "email": "ada@example.com"}
        call_command("createsuperuser", interactive=False, verbosity=0, **who)
        start(stack, "django", "ojs_worker")
        command = ["django", "runserver", f"127.0.0.1:{asked}", "--noreload"]
        serve_shop(stack, command, says="development server at")


if __name__ == "__main__":
    main()
