"""Designate, Manila and Magnum as the built-in charts configure them, before a real database, queue and Keystone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image
from .stage import Part, Stage

_WELL = """
cd /tmp
wait_for answers 3306
{migrate} > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
wait_for answers 5672
uwsgi --ini /etc/{service}/{service}-api-uwsgi.ini > /mnt/{service}-api.log 2>&1 &
wait_for answers {port}
{workers}
well() {{
  PYTHONPATH=/collections python3 /mnt/visitor.py {service} > /mnt/{service}.said 2>&1
  grep -q true /mnt/{service}.said && ! grep -q false /mnt/{service}.said
}}
wait_for well || true
cat /mnt/{service}.said
"""
# What its pods run: migration, workers, and what is said once all of them live.
CASES = {
    "designate": (
        "designate-manage database sync", 9001, ("central", "mdns", "producer", "worker"),
        {"workers": [True, "zones are listed, every worker is up"]},
    ),
    "magnum": (
        "magnum-db-manage upgrade", 9511, ("conductor",),
        {"conductor": [True, "clusters are listed, a conductor is up"]},
    ),
    "manila": (
        "manila-manage db sync", 8786, ("scheduler",),
        {"scheduler": [True, "shares are listed, a scheduler is up"]},
    ),
}  # fmt: skip
ABSENT = ("placement", "glance", "nova", "neutron", "heat", "barbican")  # Magnum's needs; nothing here asks them
FILES = {"designate": ("pools.yaml",), "magnum": (), "manila": ()}


@pytest.mark.long  # its image is for sites that name its services: `make test` does not build it
@pytest.mark.parametrize("service", CASES)
def test_a_service_migrates_lists_and_its_workers_live(
    image: Callable[[str], Image], tmp_path: Path, service: str
) -> None:
    more, mariadb, openstack, rabbitmq = map(image, ("openstack-more", "mariadb", "openstack", "rabbitmq"))
    migrate, port, names, said = CASES[service]
    stage = Stage(tmp_path, service, absent=ABSENT)
    mounts = {
        f"/etc/{service}": stage.etc(service, f"{service}-api-uwsgi.ini", *FILES[service]),
        f"/var/lib/{service}": stage.folder("state"),
        "/run/lock": stage.folder("locks"),
    }
    env = dict(more.env)
    workers = {name: f"{service}-{name}" for name in names}
    if service == "designate":
        mounts["/var/lib/openstack/etc/designate/designate.conf"] = mounts["/etc/designate"] / "designate.conf"
        env["OS_DESIGNATE_CONFIG_DIR"] = "/var/lib/openstack/etc/designate"
        workers["worker"] = f"sh -c 'until designate-manage pool update; do sleep 1; done; exec {workers['worker']}'"
    lines = [f"{command} > /mnt/{service}-{name}.log 2>&1 &" for name, command in workers.items()]
    script = _WELL.format(service=service, migrate=migrate, port=port, workers="\n".join(lines))
    parts = [
        stage.queue(rabbitmq),
        *stage.shared_parts(mariadb, openstack),
        Part(name=service, root=more.root, script=script, env=env, mounts=mounts),
    ]
    answer = stage.run(*parts)
    logs = "\n".join(f"== {log.name}\n{log.read_text()[-2500:]}" for log in sorted(stage.shared.glob("*.log")))
    assert answer.strip().endswith("}}"), answer + stage.said(*parts) + logs
    assert json.loads(answer.strip().splitlines()[-1]) == {"service": service, "checks": said}, answer + logs
