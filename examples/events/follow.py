"""Follow the lifecycle events over HTTP, and go on where the last run ended.

Start a backend with `ojs-aws local`, then

    python examples/events/follow.py --types 'job.*'

and give it jobs with `python examples/enqueue.py`. The cursor is kept in a file, and written only
after the events before it were handled: a run that is cut off handles some of them again, and
misses none. Drop repeats by the events' ids where handling twice would hurt.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx


def pages(http: httpx.Client, place: dict[str, str], types: str) -> Iterator[dict[str, Any]]:
    """Pages from a place on, for ever: what is new is asked for twice a second."""
    while True:
        answer = http.get("events", params={**place, "types": types, "limit": 500})
        page: dict[str, Any] = answer.raise_for_status().json()
        yield page
        place = {"cursor": page["cursor"]}
        if not page["has_more"]:
            time.sleep(0.5)


def handle(event: dict[str, Any]) -> None:
    """What a consumer is there for."""
    print(event["time"], event["type"], event["subject"], json.dumps(event["data"]))


def main() -> None:
    """Handle events until Ctrl-C, or with --once until there are no more."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--types", default="*")
    parser.add_argument("--cursor-file", type=Path, default=Path("events.cursor"))
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    url = os.environ.get("OJS_URL", "http://127.0.0.1:8080")
    place = {"since": "1970-01-01T00:00:00Z"}  # the first run begins with the oldest event kept
    if options.cursor_file.exists():
        place = {"cursor": options.cursor_file.read_text()}
    with httpx.Client(base_url=f"{url}/ojs/v1/") as http:
        for page in pages(http, place, options.types):
            for event in page["events"]:
                handle(event)
            options.cursor_file.write_text(page["cursor"])
            if options.once and not page["has_more"]:
                return


if __name__ == "__main__":
    main()
