"""Alertmanager's configuration from the plan: who hears what, and which alert hides another."""

from __future__ import annotations

from typing import Any

from ...module_utils._host.watched import PROOF
from ..plan.part_types import MonitoringPlan


def routing(monitoring: MonitoringPlan) -> dict[str, Any]:
    """Return the configuration: one message an object and layer, and a lost rack or host hides what was on it."""
    url = monitoring.webhook
    receiver = {"webhook_configs": [{"url": url, "send_resolved": True}]} if url else {}
    return {
        "route": {
            "receiver": "site",
            "group_by": ["site", "layer", "object"],
            "group_wait": "5s",
            "group_interval": "1m",
            "repeat_interval": "4h",
            "routes": [{"receiver": "nobody", "matchers": [f'alertname="{PROOF}"']}],
        },
        "inhibit_rules": [
            {
                "source_matchers": ['alertname="RackDown"'],
                "target_matchers": ['alertname="HostDown"'],  # which hides the rest of its host all the same
                "equal": ["site", "rack"],
            },
            {
                "source_matchers": ['alertname="HostDown"'],
                "target_matchers": ['alertname!~"HostDown|RackDown"'],
                "equal": ["site", "object"],
            },
        ],
        "receivers": [{"name": "site", **receiver}, {"name": "nobody"}],
    }
