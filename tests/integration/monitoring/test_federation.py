"""A store of somebody else takes the site's metrics as the guide shows it, by real VictoriaMetrics on both sides."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, STORE_PORT, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT

from .watched import command

OTHER = 8528
SERIES = 'up{job="store",object="seed-1",site="lab"}'


def shown() -> dict[str, Any]:
    """Return the scrape configuration of the guide."""
    found = re.search(r"<!-- federation -->\s+```yaml\n(.+?)```", (ROOT / "docs/monitoring.md").read_text(), re.DOTALL)
    assert found
    return dict(yaml.safe_load(dedent(found[1])))


def test_a_store_of_somebody_else_takes_metrics_as_the_guide_shows(
    tmp_path: Path, artifact: Callable[[str], Artifact]
) -> None:
    wanted = files(planned("lab"))
    scrape = yaml.safe_load(wanted["scrape.yml"])
    scrape["scrape_configs"] = [one for one in scrape["scrape_configs"] if one["job_name"] == "store"]
    others = {"global": {"scrape_interval": "2s"}, **shown()}
    with host_root(tmp_path / "host") as host:
        host.at(on_host.PROGRAMS).mkdir(parents=True)
        shutil.copy(artifact("victoria-metrics").path / "victoria-metrics", host.at(on_host.PROGRAMS))
        texts = wanted | {"scrape.yml": yaml.safe_dump(scrape), "others.yml": yaml.safe_dump(others)}
        for path, text in texts.items():
            host.at(HOME / path).parent.mkdir(parents=True, exist_ok=True)
            host.at(HOME / path).write_text(text)
        own = command(unit_texts(days=1, hosts=1)[on_host.STORE])
        host.start(*own)
        other = ("-storageDataPath=/var/lib/others", f"-promscrape.config={HOME}/others.yml")
        host.start(own[0], f"-httpListenAddr=127.0.0.1:{OTHER}", *other)

        def asked(port: int, path: str, *data: str) -> str:
            options = [word for one in data for word in ("--data-urlencode", one)]
            done = host.run("curl", "-sfG", "--max-time", "10", *options, f"http://127.0.0.1:{port}/api/v1/{path}")
            return done.stdout if done.returncode == 0 else ""

        def taken() -> bool:
            said = asked(OTHER, "query?latency_offset=1ms&nocache=1", f"query={SERIES}")
            return bool(said) and [one["value"][1] for one in json.loads(said)["data"]["result"]] == ["1"]

        until(taken, seconds=180)
        exported = asked(STORE_PORT, "export", 'match[]={site!=""}').splitlines()
        assert {"site": "lab", "job": "store"}.items() <= json.loads(exported[0])["metric"].items()
