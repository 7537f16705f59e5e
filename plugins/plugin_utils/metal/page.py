"""Client of the seed's page of machines: sends the overview on changes and at intervals, reads decisions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from ...module_utils._ironic.configuration import USER
from ..https import seed_session
from ..paths import state_dir
from ..plan.types import Plan
from ..vault import open_store
from ..vault.names import IRONIC
from .journal import home_of
from .overview import Overview, as_dict

PAUSE, AGAIN = 2.0, 30.0  # seconds between two looks, and until an unchanged overview is sent again
_TIMEOUT = (5, 30)


class Page:
    """The page of one seed."""

    def __init__(self, *, api: str, password: str, ca: Path) -> None:
        """Take the URL of Ironic's API, the password of our user, and the file of the site's CA."""
        self._url = f"{api}/machines/v1"
        self._session = seed_session(user=USER, password=password, ca=ca)

    def send(self, overview: dict[str, Any]) -> str:
        """Send an overview; return the error, "" on success."""
        return self._ask("PUT", "overview", overview)[0]

    def decisions(self) -> list[dict[str, Any]]:
        """Return the open decisions, oldest first; none when the page does not answer."""
        found = self._ask("GET", "decisions")[1].get("decisions")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def decide(self, machine: str, verb: str, by: str, *, about: str = "") -> str:
        """Store a playbook's decision ``about`` a node and its disks; return the error, "" on success."""
        return self._ask("PUT", "decisions", {"machine": machine, "verb": verb, "by": by, "about": about})[0]

    def answer(self, number: str, outcome: str) -> str:
        """Send the outcome of a decision; return the error, "" on success."""
        return self._ask("PUT", "answers", {"number": number, "outcome": outcome})[0]

    def _ask(self, method: str, place: str, body: Any = None) -> tuple[str, dict[str, Any]]:
        """Return the error, "" on success, and the page's answer."""
        try:
            answer = self._session.request(method, f"{self._url}/{place}", json=body, timeout=_TIMEOUT)
            found = answer.json() if answer.ok else {}
        except (requests.RequestException, ValueError) as error:
            return str(error), {}
        why = "" if answer.ok else f"{answer.status_code} {answer.text[:200].strip()}"
        return why, found if isinstance(found, dict) else {}


def page_of(plan: Plan) -> Page | None:
    """Return the page of a site's seed, None when the seed installs no machines."""
    if plan.metal is None:
        return None
    password = open_store(plan.site, write=False).get(IRONIC)
    return Page(api=plan.metal.api_url, password=password, ca=state_dir(plan.site) / "ca.crt")


@contextmanager
def shown(plan: Plan, page: Page | None, say: Callable[[str], None]) -> Iterator[None]:
    """Update the page during the block and at its end. An unreachable page is reported once, and delays nothing."""
    if page is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=tell, args=(page, plan, say, ended), name="page of machines", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def tell(page: Page, plan: Plan, say: Callable[[str], None], ended: threading.Event) -> None:
    """Send the overview when it changes, until ``ended`` is set; then look once more."""
    overview, sent, at, silent = Overview(plan, home_of(plan.site)), None, 0.0, False
    while True:
        last = ended.wait(PAUSE if at else 0)
        rows = overview.rows()
        if rows != sent or time.monotonic() - at > AGAIN:
            now = time.time()
            machines = [as_dict(row, now) for row in rows]
            why = page.send({"site": plan.site, "time": round(now, 3), "machines": machines})
            if why and not silent:
                say(f"the seed's page of machines does not show this run: {why}")
            silent, sent, at = bool(why), None if why else rows, time.monotonic()
        if last:
            return
