"""Metrics go to a store of somebody else, too, by the real vmagent, and are kept while that one refuses them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.routing import secrets_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.monitoring.recorded import parsed, recorded
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .watched import command

OTHER = 8528
SCRAPED = [f'up{{job="{job}",object="seed-1",site="lab"}}' for job in ("store", "rules", "agent")]
JUDGED = 'ALERTS{alertname="AlertingWorks",site="lab"}'


def test_a_store_of_somebody_else_gets_metrics_and_alerts_by_its_login_and_the_own_one_keeps_them(
    tmp_path: Path, artifact: Callable[[str], Artifact]
) -> None:
    url = f"https://localhost:{OTHER}/api/v1/write"
    plan = planned("lab", monitoring__interval=5, monitoring__remote_write={"url": url, "username": "cloud"})
    assert plan.monitoring
    assert plan.monitoring.remote_write
    remote = plan.monitoring.remote_write
    (place,) = secrets_of(plan.monitoring)
    texts = unit_texts(days=1, hosts=1, remote={"url": url, "username": remote.username, "secret": remote.secret})
    authority = issue("authority", ca=True)
    server = issue("server", authority, names=["localhost"])
    wanted = files(plan)
    scrape = yaml.safe_load(wanted["scrape.yml"])
    own = [one for one in scrape["scrape_configs"] if one["job_name"] in ("store", "rules", "agent")]
    wanted |= {"scrape.yml": yaml.safe_dump(scrape | {"scrape_configs": own}), place: "their-word"}
    wanted |= {"other.crt": server.pem, "other.key": server.key, "other.word": "their-word"}
    with host_root(tmp_path / "host") as host:
        host.at("/etc/ssl/certs/ca-certificates.crt").write_text(authority.pem)
        host.at(on_host.PROGRAMS).mkdir(parents=True)
        for name in ("victoria-metrics", "vmagent", "vmalert"):
            shutil.copy(artifact("victoria-metrics").path / name, host.at(on_host.PROGRAMS))
        for path, text in wanted.items():
            host.at(HOME / path).parent.mkdir(parents=True, exist_ok=True)
            host.at(HOME / path).write_text(text)
        for unit in (on_host.METRICS_AGENT, on_host.STORE, on_host.RULES):
            host.start(*command(texts[unit]))
        host.start(
            command(texts[on_host.STORE])[0], f"-httpListenAddr=127.0.0.1:{OTHER}", "-storageDataPath=/var/lib/others",
            "-tls", f"-tlsCertFile={HOME}/other.crt", f"-tlsKeyFile={HOME}/other.key", "-httpAuth.username=cloud",
            f"-httpAuth.password=file://{HOME}/other.word",
        )  # fmt: skip
        theirs = ("-u", "cloud:their-word", f"https://localhost:{OTHER}")

        def found(query: str, *server: str) -> list[Any]:
            *options, where = server or ("http://127.0.0.1:8428",)
            asked = ("--data-urlencode", f"query={query}", "-d", "latency_offset=1ms", "-d", "nocache=1")
            done = host.run("curl", "-sG", "--max-time", "10", *options, *asked, f"{where}/api/v1/query")
            return list(json.loads(done.stdout)["data"]["result"]) if done.stdout.startswith("{") else []

        def there(*server: str) -> bool:
            said = (found(query, *server) for query in (*SCRAPED, JUDGED))
            return all([one["value"][1] for one in each] == ["1"] for each in said)

        until(lambda: there(*theirs), seconds=120)
        until(there, seconds=30)
        said = host.run("curl", "-s", "http://127.0.0.1:8429/api/v1/targets?state=active").stdout
        active = json.loads(said)["data"]["activeTargets"]
        assert {(one["labels"]["job"], one["labels"]["object"], one["health"]) for one in active} == {
            (job, "seed-1", "up") for job in ("store", "rules", "agent")
        }
        assert "their-word" not in host.run("curl", "-s", "http://127.0.0.1:8429/flags").stdout
        told = parsed(host.run("curl", "-s", "http://127.0.0.1:8429/metrics").stdout)
        assert recorded("agent").keys() <= told.keys()

        host.at(HOME / place).write_text("another-word")  # which the agent reads again
        fails = ALERTS["RemoteWriteFails"].expression(plan).replace("5m", "30s")
        until(lambda: [one["metric"]["object"] for one in found(fails)] == ["seed-1"], seconds=120)
        assert found('count_over_time(up{job="agent"}[10s]) > 0'), "the own store has what the other refuses"
        host.at(HOME / place).write_text("their-word")
        until(lambda: bool(found('count_over_time(up{job="agent"}[10s]) > 0', *theirs)), seconds=120)
