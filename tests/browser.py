"""A real browser, headless: Debian's Chromium, driven by Playwright, which is in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.environments import environment

CHROMIUM = "/usr/bin/chromium"


def missing() -> str:
    """Return what `ci/bootstrap browser` would install, "" when it did."""
    return ", ".join(name for name in (CHROMIUM, "certutil") if not shutil.which(name))


@contextmanager
def opened(
    *options: str, home: Path, timeout: float, height: int = 800, program: str | Path = CHROMIUM
) -> Iterator[Any]:
    """Yield a page of Playwright's.

    ``options`` are Chromium's; ``home``: of the browser; ``timeout``: seconds that any state may take to come;
    ``program``: what starts Chromium.
    """
    (packages,) = (environment("browser") / "lib").glob("python3*/site-packages")
    sys.path.append(str(packages))
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=timeout * 1000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program,
            args=["--no-proxy-server", "--disable-dev-shm-usage", *options],
            env={**os.environ, "HOME": str(home)},
            timeout=timeout * 1000,
        )
        page = chromium.new_page(viewport={"width": 1200, "height": height}, locale="en-US")
        page.set_default_timeout(timeout * 1000)
        yield page
        chromium.close()


@contextmanager
def of_site(plan: Plan, *, authority: Path, home: Path, timeout: float) -> Iterator[Any]:
    """Yield a page of a browser that trusts a site's CA and finds its names on its virtual IP."""
    _trust(authority, home)
    names = ", ".join(f"MAP {end.name} {plan.edge.address}" for end in plan.edge.endpoints)
    with opened(f"--host-resolver-rules={names}", home=home, timeout=timeout) as page:
        yield page


def _trust(authority: Path, home: Path) -> None:
    """Make the CA one of those the browser believes."""
    database = home / ".pki/nssdb"
    database.mkdir(parents=True)
    run = ["certutil", "-d", f"sql:{database}"]
    subprocess.run([*run, "-N", "--empty-password"], check=True)
    subprocess.run([*run, "-A", "-t", "C,,", "-n", "site", "-i", str(authority)], check=True)
