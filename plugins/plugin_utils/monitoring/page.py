"""The page of a site: topology with live states, layers, what fires, runs; the browser asks for all that changes."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from ...module_utils._host.watched import PROOF
from ...module_utils._monitoring.central import LOGS_URL, STORE_URL
from ..plan.output.topology import topology_svg
from ..plan.types import Plan
from .capacity import ROOM
from .jobs import JOBS
from .rules import alerts_of
from .targets import targets

PAGE = "page/index.html"
_FORM = Path(__file__).with_name("page.html")


def page(plan: Plan, *, interval: int) -> str:
    """Return the page, whole in one file; it asks the store every ``interval`` seconds."""
    # Of managers that stand by, an alert tells.
    asked = {
        layer: [one["labels"] for one in groups if not JOBS[one["labels"]["job"]].one_answers]
        for layer, groups in targets(plan).items()
    }
    alerts = [(name, one) for name, one in alerts_of(plan)]
    room = plan.monitoring.capacity if plan.monitoring else None
    known = {
        "interval": interval,
        "room": {"percent": room.percent, "queries": ROOM} if room else None,
        "logs": LOGS_URL if plan.monitoring and plan.monitoring.logs else None,
        "proof": PROOF,
        "hosts": list(plan.hosts),
        "layers": {one.layer: len(asked.get(one.layer, ())) for _, one in alerts},
        "targets": [f"{one['job']} {one['object']}" for each in asked.values() for one in each],
        "alerts": {
            f"{layer} {name} {one.object}": {"what": one.what, "remedy": one.remedy}
            for name, one in alerts
            for layer in one.layers
        },
    }
    values = {
        "STORE": STORE_URL, "SITE": html.escape(plan.site), "PICTURE": topology_svg(plan),
        "PLAN": json.dumps(known).replace("<", "\\u003c"),  # which begins a tag in a script, too
    }  # fmt: skip
    return re.sub("@([A-Z]+)@", lambda found: values[found[1]], _FORM.read_text(encoding="utf-8"))
