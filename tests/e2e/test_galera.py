"""What becomes of the database's data when members lose their power or their volume.

The loss of power needs three members: inventories/lab-ha.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions
from ansible_collections.groundup.cloud.tests.e2e.conftest import SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.power import (
    MERGE,
    PODS,
    WORKLOAD,
    await_members,
    cordoned,
    cut_power,
    member,
)
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
CLIENT = ("mariadb", "--defaults-file=/etc/mysql/admin_user.cnf", "--host=localhost", "--batch", "--skip-column-names")


@pytest.fixture(scope="module")
def api(state: Path) -> Api:
    """The cluster's API, if its database has three members."""
    api = Api(state / "kubeconfig")
    if api.get(WORKLOAD)["spec"]["replicas"] < 3:
        pytest.skip("this site has one Galera member: see inventories/lab-ha")
    return api


@pytest.fixture(scope="module")
def alone(state: Path) -> Api:
    """The cluster's API, if its database has one member."""
    api = Api(state / "kubeconfig")
    if api.get(WORKLOAD)["spec"]["replicas"] != 1:
        pytest.skip("this site has several Galera members: see inventories/lab")
    return api


@pytest.fixture
def database(api: Api) -> Iterator[str]:
    """The name of a database of the test's own."""
    name = f"outage_{secrets.token_hex(3)}"
    yield name
    query(api, 0, f"DROP DATABASE IF EXISTS {name}")


def query(api: Api, ordinal: int, sql: str, *, database: str = "mysql") -> str:
    """Return what a member answers."""
    argv = (*CLIENT, f"--database={database}", f"--execute={sql}")
    answer = api.execute("openstack", f"mariadb-server-{ordinal}", argv, container="mariadb")
    assert answer.code == 0, answer.stderr
    return answer.stdout.strip()


def status(api: Api, ordinal: int, variable: str) -> str:
    """Return a status variable of a member."""
    return query(api, ordinal, f"SHOW STATUS LIKE '{variable}'").split()[1]


def test_after_a_total_outage_the_newest_data_are_kept(api: Api, connect: Callable[[str], Any], database: str) -> None:
    """The first member misses a write, then all are without power: not the first one forms the cluster.

    It is the cluster it was, by its id: else a second outage could find members with data of two clusters.
    """
    await_members(api, 3, seconds=60)
    before = status(api, 0, "wsrep_cluster_state_uuid")
    query(api, 0, f"CREATE DATABASE {database}; CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    first = member(api, 0)
    with cordoned(api, [first["spec"]["nodeName"]]):
        cut_power(api, connect(first["spec"]["nodeName"]), first)
        await_members(api, 2, seconds=120)
        # The two that are left wait ten seconds for the third before they go on without it.
        query(api, 1, "INSERT INTO t VALUES (1)", database=database)
        for ordinal in (1, 2):
            pod = member(api, ordinal)
            cut_power(api, connect(pod["spec"]["nodeName"]), pod)
    await_members(api, 3, seconds=300)
    assert [query(api, each, "SELECT id FROM t", database=database) for each in range(3)] == ["1", "1", "1"]
    assert status(api, 0, "wsrep_cluster_size") == "3"
    assert [status(api, each, "wsrep_cluster_state_uuid") for each in range(3)] == [before] * 3
    logs = {ordinal: log(api, ordinal) for ordinal in range(3)}
    formed = [ordinal for ordinal, text in logs.items() if "becoming the server: forming the cluster" in text]
    held = {ordinal: int(re.findall(r"holds [0-9a-f-]{36}:(-?\d+)", text)[-1]) for ordinal, text in logs.items()}
    assert len(formed) == 1, logs
    assert formed != [0], held
    assert held[formed[0]] == max(held.values()) > held[0]


def log(api: Api, ordinal: int) -> str:
    """Return what a member's start said."""
    return api.logs("openstack", f"mariadb-server-{ordinal}", "mariadb", lines=5000)


@contextmanager
def emptied(api: Api, host: Any, directory: str) -> Iterator[None]:
    """Restart the member with an empty volume, as with another disk mounted there; put its data back at the end."""

    def restarted(command: str) -> None:
        scale(0)
        until(lambda: not api.get(PODS, labelSelector="application=mariadb,component=server")["items"], seconds=60)
        done = host.run(f"sudo sh -c '{command}'")
        assert done.rc == 0, done.stderr
        scale(1)

    def scale(count: int) -> None:
        api.request("PATCH", f"{WORKLOAD}/scale", body={"spec": {"replicas": count}}, content_type=MERGE)

    restarted(f"mkdir {directory}.away && mv {directory}/* {directory}.away/")
    try:
        yield
    finally:
        restarted(f"mv {directory}.away/* {directory}/ && rmdir {directory}.away")
        await_members(api, 1, seconds=120)


@pytest.mark.long
def test_a_single_member_whose_volume_is_empty_makes_no_new_database(alone: Api, connect: Callable[[str], Any]) -> None:
    """The card names volume and node; with the data back, the database is the one it was."""
    await_members(alone, 1, seconds=60)
    before, pod = status(alone, 0, "wsrep_cluster_state_uuid"), member(alone, 0)
    claim, node = "mysql-data-mariadb-server-0", pod["spec"]["nodeName"]
    volume = alone.get(f"/api/v1/namespaces/openstack/persistentvolumeclaims/{claim}")["spec"]["volumeName"]
    spec = alone.get(f"/api/v1/persistentvolumes/{volume}")["spec"]
    lines: list[str] = []
    with emptied(alone, connect(node), (spec.get("hostPath") or spec["local"])["path"]):
        options = RolloutOptions(start_timeout=150.0, patience=0.2)
        with session(str(SITE_FILE), say=lines.append, options=options) as opened:
            (card,) = opened.rollout.apply().cards
    assert (card.release, card.layer, card.rule) == ("mariadb", "database", "database-lost")
    printed = "\n".join(lines)
    assert (
        f"cluster {before} was formed here; here: volume claim {claim} on node {node}, which holds nothing" in printed
    )
    assert re.search(
        r"configmap mariadb-mariadb-state openstack\.groundup\.cloud/new-database=[0-9a-f]{8}$", printed, re.M
    )
    assert status(alone, 0, "wsrep_cluster_state_uuid") == before
