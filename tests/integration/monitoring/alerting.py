"""Debian's Alertmanager with the plan's own routing and its unit's arguments; alerts are posted as by vmalert."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

from .watched import HOOK, command

SMTP = 2525
_MODULE = "ansible_collections.groundup.cloud.plugins.module_utils"
# This machine's files are not those of the host.
_STEP = f"""
import json, pathlib, sys
from {_MODULE}._base.changes import Changes
from {_MODULE}._base.errors import GroundupError
from {_MODULE}._host import ownership, watched
from {_MODULE}._monitoring import silences
ownership.refuse_other = lambda _: None
watched.unit_file = lambda _: pathlib.Path("/")
try:
    getattr(silences, sys.argv[1])(Changes(check=False), json.loads(sys.argv[2]))
except GroundupError as error:
    print(error)
"""


class Alerting:
    """Alertmanager, and what its receivers heard."""

    def __init__(self, host: HostRoot, heard: Path, mailed: Path) -> None:
        """Take the host it runs on, and the files of what was posted and mailed."""
        self.host, self._heard, self._mailed = host, heard, mailed

    def ask(self, path: str, *options: str) -> Any:
        """Return the answer of its API; None: it gives none."""
        done = self.host.run("curl", "-sf", "--max-time", "10", "-g", *options, f"http://127.0.0.1:9093/api/v2/{path}")
        return json.loads(done.stdout or "{}") if done.returncode == 0 else None

    def fire(self, *alerts: dict[str, str], **words: str) -> None:
        """Post alerts with these labels and those that all have, with ``words`` as annotations."""
        own = {"site": "lab", "layer": "host"}
        posted = json.dumps([{"labels": own | one, "annotations": words} for one in alerts])
        assert self.ask("alerts", "-H", "Content-Type: application/json", "-d", posted) is not None

    def hidden(self) -> set[str]:
        """Return name and object of those that another alert hides or a silence mutes."""
        return {
            f"{one['labels']['alertname']} {one['labels']['object']}"
            for one in self.ask("alerts")
            if one["status"]["inhibitedBy"] or one["status"]["silencedBy"]
        }

    def silences(self) -> dict[str, Any]:
        """Return silences that are active, by id."""
        return {one["id"]: one for one in self.ask("silences") if one["status"]["state"] == "active"}

    def step(self, name: str, **given: Any) -> str:
        """Do a step of module monitoring about silences; return its error."""
        own = {"site": "lab", "hosts": [], "osds": [], "layers": [], "run": "a test", "minutes": 60}
        done = self.host.run(sys.executable, "-c", _STEP, name, json.dumps(own | given), outside=True)
        return done.stdout

    def heard(self) -> set[str]:
        """Return name and object of those that the webhook was told."""
        told = [alert["labels"] for one in self._posted() for alert in one.get("alerts", ())]
        return {f"{labels['alertname']} {labels['object']}" for labels in told}

    def paged(self) -> list[dict[str, Any]]:
        """Return the events that were sent to page somebody."""
        return [one for one in self._posted() if "routing_key" in one]

    def mailed(self) -> str:
        """Return logins and mail."""
        return self._mailed.read_text() if self._mailed.exists() else ""

    def _posted(self) -> list[dict[str, Any]]:
        lines = self._heard.read_text().splitlines() if self._heard.exists() else []
        return [json.loads(line) for line in lines]


@contextmanager
def alerting(place: Path, plan: Plan, debian: Path, *, secrets: Mapping[str, str] | None = None) -> Iterator[Alerting]:
    """Run Alertmanager with ``plan``'s routing and ``secrets``, by path; ``debian``: the root that has it."""
    authority = issue("authority", ca=True)
    server = issue("server", authority, names=["127.0.0.1"])
    with host_root(place / "host") as host:
        for name in ("prometheus-alertmanager", "amtool"):
            shutil.copy(debian / "usr/bin" / name, host.at("usr/bin"))
        shutil.copytree(debian / "usr/share/prometheus", host.at("usr/share/prometheus"))
        trusted = "/etc/ssl/certs/ca-certificates.crt"
        own = {trusted: authority.pem, "/tmp/server.pem": server.pem + server.key}  # noqa: S108  # of the host
        for path, text in {"alertmanager.yml": files(plan)["alertmanager.yml"], **(secrets or {}), **own}.items():
            host.at(HOME / path).parent.mkdir(parents=True, exist_ok=True)
            host.at(HOME / path).write_text(text)
        host.start(*command(unit_texts(days=1, hosts=1)[on_host.ALERTS]))
        heard, mailed = place / "heard", place / "mailed"
        processes = [
            _beside(host, "receiver.py", HOOK, heard),
            _beside(host, "mail_server.py", SMTP, mailed, host.at("/tmp/server.pem")),  # noqa: S108  # of the host
        ]
        try:
            found = Alerting(host, heard, mailed)
            until(lambda: found.ask("status") is not None, seconds=30)
            yield found
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _beside(host: HostRoot, program: str, *words: object) -> subprocess.Popen[bytes]:
    place = Path(__file__).with_name(program)
    return subprocess.Popen(host.argv(sys.executable, str(place), *map(str, words), outside=True))
