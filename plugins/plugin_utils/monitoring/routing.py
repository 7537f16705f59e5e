"""Alertmanager's configuration from the plan: who hears what, and which alert hides another."""

from __future__ import annotations

from typing import Any

from ..plan.types import Plan


def routing(plan: Plan) -> dict[str, Any]:
    """Return the configuration: one message an object and layer, and a lost host hides what was on it."""
    webhook = plan.monitoring.webhook if plan.monitoring else None
    receiver = {"webhook_configs": [{"url": webhook, "send_resolved": True}]} if webhook else {}
    return {
        "route": {
            "receiver": "site",
            "group_by": ["layer", "object"],
            "group_wait": "5s",
            "group_interval": "1m",
            "repeat_interval": "4h",
        },
        "inhibit_rules": [
            {
                "source_matchers": ['alertname="HostDown"'],
                "target_matchers": ['alertname!="HostDown"'],
                "equal": ["object"],
            }
        ],
        "receivers": [{"name": "site", **receiver}],
    }
