"""What a controller tells the page of machines, as its tests have it."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import Page
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, WANTED

ORIGIN = WANTED["api_url"]
PAGE = f"{ORIGIN}/machines/"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def machine(name: str, state: str | None, doing: str, **more: Any) -> dict[str, Any]:
    """Return a machine as it is told of."""
    return {
        "machine": name, "rack": "r1", "group": "worker", "provisioner": "ironic", "state": state, "doing": doing,
        "since": 1000.0, "expected": None, "moving": False, "card": None, "asks": "",
        "may": dict.fromkeys(("approve", "retry"), f"it is {state}"), **more,
    }  # fmt: skip


def overview(*machines: dict[str, Any]) -> dict[str, Any]:
    """Return all that is told at once."""
    return {"site": "lab-metal", "time": 1041.0, "machines": list(machines)}


def waits(name: str, node: str) -> dict[str, Any]:
    """Return a machine that waits for approval."""
    card = {
        "what": f"it fits {name} and waits for approval", "why": "approve: ask", "remedy": "approve it on this page",
    }  # fmt: skip
    return machine(name, "matched", "", card=card, asks=node, may={"approve": "", "retry": "it waits for approval"})


def send(seed: FakeSeed, found: dict[str, Any], *, password: str = PASSWORD) -> str:
    """Tell it; return why it was not taken, empty when it was."""
    return seed.inside(lambda: Page(api=ORIGIN, password=password, ca=seed.ca).send(found))
