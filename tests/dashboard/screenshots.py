"""Takes the screenshots of README and docs, and those of every view: ``make screenshots``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import sync_playwright

from tests.dashboard import scene
from tests.dashboard.conftest import CHECKOUT, Tab, launch, serve
from tests.dashboard.views import VIEWS
from tests.load import HUNG_S

IMAGES: Final = CHECKOUT / "docs" / "images"
SCHEMES: Final = {"overview": ("light", "dark"), "job": ("light",), "workflow": ("dark",)}
"""The colours in which each picture of the pages is shown somewhere."""

ALL: Final = CHECKOUT / "build" / "screenshots"
"""Every view in every size, to look at."""

SIZES: Final = ((1440, 900), (1024, 768), (390, 844))


def main() -> None:
    """Let there be a shop with its jobs, and show it in each size, in light and in dark."""
    busy = contextmanager(serve)(module="tests.dashboard.busy_server")
    with busy as (address, _), sync_playwright() as playwright:
        beats = scene.keep_beating(address)  # on a slow machine the play takes minutes
        with httpx.Client(base_url=f"{address}/ojs/v1/", timeout=HUNG_S) as api:
            singles = scene.play(api)
        lists = [(view or "overview", view, heading) for view, heading in VIEWS]
        chromium = launch(playwright)
        for width, height in SIZES:
            for scheme in ("light", "dark"):
                size = {"width": width, "height": height}
                context = chromium.new_context(viewport=size, color_scheme=scheme)
                tab = Tab(context.new_page(), address)
                for name, view, heading in (*lists, *singles):
                    path = ALL / f"{name}-{width}-{scheme}.png"
                    if (width, height) == SIZES[0] and scheme in SCHEMES.get(name, ()):
                        path = IMAGES / f"dashboard-{name}-{scheme}.png"
                    _take(tab, path, view, heading)
                context.close()
        chromium.close()
        beats.set()


def _take(tab: Tab, path: Path, view: str, heading: str) -> None:
    page = tab.open(view, heading)
    page.get_by_text("Live · ").wait_for()
    page.mouse.move(0, 0)
    if view == "cron":  # the runs come one after the other
        page.locator(".runs").nth(len(scene.CRON) - 1).wait_for(state="attached")
    page.wait_for_timeout(300)  # the charts are drawn
    path.parent.mkdir(exist_ok=True, parents=True)
    page.screenshot(path=str(path))
    print(f"{path.relative_to(CHECKOUT)}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
