"""What would stop a restore in its middle is known before anything ends: volumes, passwords, keys, room."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import job as restore_job
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal, workloads
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.mariadb import SCRIPT, Members
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import restored
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.mariadb import native
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

from .restoring import Make, job
from .test_restore_decide import BOTH, against, backup, control, host, present

NODES = ("control-1", "control-2", "control-3")


class Cluster:
    """Three members, each on a volume of one node; ``lost``: nodes that are not Ready; others: members."""

    def __init__(
        self, *, lost: tuple[str, ...] = (), unclaimed: tuple[int, ...] = (), void: tuple[int, ...] = ()
    ) -> None:
        self.lost, self.unclaimed, self.void, self.asked = lost, unclaimed, void, list[tuple[str, str]]()

    def get(self, path: str, **_: Any) -> dict[str, Any]:
        if path.endswith("/jobs"):
            made = ("nova-identity", "nova-db-sync", "keystone-db-sync", "keystone-bootstrap", "glance-identity")
            names = [f"{name}-0a1b2c3d" for name in made]
            return {"items": [
                {"metadata": {"name": name}, "status": {"succeeded": int(name[:6] != "glance")}} for name in names
            ]}  # fmt: skip
        return {"items": [
            {"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [
                {"type": "Ready", "status": "False" if name in self.lost else "True"}
            ]}} for name in NODES
        ] if path.endswith("/nodes") else []}  # fmt: skip

    def find(self, path: str) -> dict[str, Any] | None:
        number = int(found[1]) if (found := re.search(r"-(\d)$", path)) else 0
        if "/statefulsets/" in path:
            container = {"name": "mariadb", "image": "i", "env": [{"name": "MEMBERS", "value": "3"}]}
            return {"spec": {"template": {"spec": {"containers": [container]}}}}
        if "/persistentvolumeclaims/" in path and number not in self.unclaimed:
            return {"spec": {"volumeName": f"pv-{number}"}, "status": {"phase": "Bound"}}
        if "/persistentvolumes/" in path and number not in self.void:
            rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODES[number]]}
            return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}}}
        return None

    def request(self, method: str, path: str, **_: Any) -> dict[str, Any]:
        self.asked.append((method, path))
        raise GroundupError("stopped here", where="", why="", remedy="")

    def delete(self, path: str, **_: Any) -> None:
        self.asked.append(("DELETE", path))


def test_a_member_is_away_without_a_claim_or_with_a_node_that_is_not_ready() -> None:
    cluster: Any = Cluster(lost=("control-3",), unclaimed=(1,), void=(0,))
    assert Members(cluster, "openstack").away() == {
        0: "the volume of claim mysql-data-mariadb-server-0 is not there",
        1: "claim mysql-data-mariadb-server-1 has no volume", 2: "its volume is on control-3, not Ready",
    }  # fmt: skip
    whole: Any = Cluster()
    assert Members(whole, "openstack").away() == {}


@pytest.mark.parametrize(
    ("lost", "force", "said", "ends"),
    [
        (("control-3",), [], "mariadb-server-2: its volume is on control-3, not Ready", False),
        (("control-3",), ["member-away"], "stopped here", True),
        (NODES, ["member-away"], "no member of MariaDB has a volume", False),
    ],
)
def test_nothing_ends_before_the_operator_knows_who_is_away(
    lost: tuple[str, ...], force: list[str], said: str, *, ends: bool, plan: Plan, made: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    made()
    cluster: Any = Cluster(lost=lost)
    monkeypatch.setattr(restore_job.RestoreJob, "_api", lambda *_, **__: cluster)
    monkeypatch.setattr(journal, "under_way", lambda _: replace(BEGUN))
    with pytest.raises(GroundupError, match=re.escape(said)):
        job(plan, parts=["mariadb"], force=force).mariadb(restored.statements)
    assert bool(cluster.asked) is ends


def test_data_that_a_killed_run_has_moved_are_gone_on_with(tmp_path: Path) -> None:
    kept = tmp_path / f".before-restore-{BEGUN.name}.sst"
    (kept / "new/mysql").mkdir(parents=True)
    for name in ("prepared", "emptied", "new/ibdata1"):
        (kept / name).touch()

    def run(script: str) -> int:
        argv = ["bash", "-c", f"sync() {{ :; }}\n{script}", "restore", str(tmp_path), BEGUN.name, "1", "", "0"]
        return subprocess.run(argv, check=False).returncode

    assert run(SCRIPT.replace('sync; touch "$kept/done"', "exit 9")) == 9
    assert run(SCRIPT) == 0
    assert {one.name for one in tmp_path.iterdir()} == {kept.name, "ibdata1", "mysql"}
    assert (kept / "done").exists()


BEGUN = journal.Restore(name="20261128T150000Z", set="s", sha256="0", parts=("mariadb",))


def test_accounts_get_the_passwords_of_now_and_both_while_a_rotation_is_open(plan: Plan) -> None:
    store = open_store(plan.site)
    store.ensure([name for name in ("keystone/db", "mariadb/root", "mariadb/sst") if name not in store.names()])
    values = store.items()
    said = restored.statements(with_values(plan), store).decode()
    way = f"IDENTIFIED VIA mysql_native_password USING '{native(values['keystone/db'])}'"
    assert f"ALTER USER IF EXISTS 'keystone'@'%' {way};\n" in said
    assert "'root'@'%'" in said
    assert "'root'@'localhost'" in said
    assert not [one for one in values.values() if one in said], "a statement shows no password"


def test_the_jobs_that_made_keystones_users_go_and_others_stay() -> None:
    cluster: Any = Cluster()
    api: Api = cluster
    assert workloads.forget_accounts(api, "openstack") == ["nova-identity-0a1b2c3d", "keystone-db-sync-0a1b2c3d"]
    assert [path.rpartition("/")[2] for _, path in cluster.asked] == [
        "nova-identity-0a1b2c3d",
        "keystone-db-sync-0a1b2c3d",
    ]


def test_secrets_at_rest_that_no_api_server_could_read_are_refused_by_name() -> None:
    said = against(backup(), present(unread=True))
    assert "need a key that control hosts have no more" in said[None]
    assert against(backup(), present(unread=True), parts=("state", *BOTH)) == {}


def test_a_member_of_mariadb_without_its_volume_needs_a_consent_and_all_of_them_have_none() -> None:
    away = {2: "its volume is on control-3, not Ready"}
    said = against(backup(), present(away=away, members=3))
    assert [*said] == ["member-away"]
    assert "mariadb-server-2: its volume is on control-3, not Ready" in said["member-away"]
    assert [*against(backup(), present(away=away, members=1))] == [None]


def test_a_restore_that_goes_on_does_not_grow_too_old() -> None:
    assert [*against(backup(), present(), days=0.01)] == ["outdated"]
    assert against(backup(), present(restore="20261128T143000Z"), days=0.01) == {}


def test_hosts_that_cannot_be_cleared_are_named_before_anything_is_done() -> None:
    def said(**hosts: Any) -> dict[str | None, str]:
        return against(backup(), present(control=control(**hosts)), parts=("etcd",))

    full = host(full=True)
    assert "control-2 cannot be cleared" in said(control_1=full, control_2=full)[None]
    assert said(control_1=full, control_2={**full, "passed": {"restore": "", "did": "left"}}) != {}
    assert said(control_1=full) == {}  # etcd is restored on it
