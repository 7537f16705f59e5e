"""Debian's Alertmanager with the plan's own routing and its unit's arguments; alerts are posted as by vmalert."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

from .watched import HOOK, command


class Alerting:
    """Alertmanager, and what its receivers heard."""

    def __init__(self, host: HostRoot, heard: Path) -> None:
        """Take the host it runs on, and the file of what a webhook heard."""
        self.host, self._heard = host, heard

    def ask(self, path: str, *options: str) -> Any:
        """Return the answer of its API; None: it gives none."""
        done = self.host.run("curl", "-sf", "--max-time", "10", "-g", *options, f"http://127.0.0.1:9093/api/v2/{path}")
        return json.loads(done.stdout or "{}") if done.returncode == 0 else None

    def fire(self, *alerts: dict[str, str]) -> None:
        """Post alerts with these labels, and those that all have."""
        posted = json.dumps([{"labels": {"site": "lab", "layer": "host", **one}} for one in alerts])
        assert self.ask("alerts", "-H", "Content-Type: application/json", "-d", posted) is not None

    def hidden(self) -> set[str]:
        """Return name and object of those that another alert hides or a silence mutes."""
        return {
            f"{one['labels']['alertname']} {one['labels']['object']}"
            for one in self.ask("alerts")
            if one["status"]["inhibitedBy"] or one["status"]["silencedBy"]
        }

    def heard(self) -> set[str]:
        """Return name and object of those that the webhook was told."""
        lines = self._heard.read_text().splitlines() if self._heard.exists() else []
        told = [alert["labels"] for line in lines for alert in json.loads(line).get("alerts", ())]
        return {f"{labels['alertname']} {labels['object']}" for labels in told}


@contextmanager
def alerting(place: Path, plan: Plan, debian: Path) -> Iterator[Alerting]:
    """Run Alertmanager with ``plan``'s routing below ``place``; ``debian``: the root that has it."""
    with host_root(place / "host") as host:
        for name in ("prometheus-alertmanager", "amtool"):
            shutil.copy(debian / "usr/bin" / name, host.at("usr/bin"))
        shutil.copytree(debian / "usr/share/prometheus", host.at("usr/share/prometheus"))
        host.at(HOME).mkdir(parents=True)
        host.at(HOME / "alertmanager.yml").write_text(files(plan)["alertmanager.yml"])
        host.start(*command(unit_texts(interval=15, days=1, hosts=1)[on_host.ALERTS]))
        heard = place / "heard"
        receiver = [sys.executable, str(Path(__file__).with_name("receiver.py")), str(HOOK), str(heard)]
        with subprocess.Popen(host.argv(*receiver, outside=True)) as process:
            try:
                found = Alerting(host, heard)
                until(lambda: found.ask("status") is not None, seconds=30)
                yield found
            finally:
                process.kill()
