"""What one storage host does: its disk decides, nothing is made twice, and a killed run goes on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import (
    converge,
    disk,
    gateway,
    health,
    model,
    monitors,
    osds,
    stand_in,
)
from ansible_collections.groundup.cloud.plugins.module_utils._ceph.model import StorageNode
from ansible_collections.groundup.cloud.plugins.module_utils._host import packages, units

from .host import FOREIGN, FSID, GATEWAY, MONITORS, Host, Monitors, node, quorum

DEBIAN = {"ID": "debian", "VERSION_ID": "13", "PRETTY_NAME": "Debian GNU/Linux 13 (trixie)"}


@pytest.fixture
def cluster() -> Monitors:
    whole = {"pg_summary": {"num_pg_by_state": [{"name": "active+clean", "num": 9}]}}
    known = {"auth_dump": [{"entity": f"mgr.{name}"} for name in MONITORS]}
    return Monitors(
        {
            "pg stat": whole,
            "quorum_status": {"quorum_names": list(MONITORS)},
            "osd dump": {"osds": []},
            "osd tree": {"nodes": []},
            "auth ls": known,
        }
    )


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Monitors) -> Host:
    made, lib, etc = Host(), tmp_path / "lib", tmp_path / "etc"
    for name in ("mon", "osd", "mgr", "tmp"):
        (lib / name).mkdir(parents=True)
    for module in (model, disk, monitors, converge):
        for name, value in {"LIB": lib, "ETC": etc, "CONF": etc / "ceph.conf"}.items():
            monkeypatch.setattr(module, name, value, raising=False)
    monkeypatch.setattr(disk, "OSDS", lib / "osd")
    monkeypatch.setattr(stand_in, "PATH", tmp_path / "bcrypt.py")
    monkeypatch.setattr(disk, "owner", lambda: (0, 0))
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    for module in (monitors, osds, units):
        monkeypatch.setattr(module, "run", made.run)
    monkeypatch.setattr(units, "properties", made.properties)
    monkeypatch.setattr(units, "control", made.control)
    monkeypatch.setattr(converge, "off", lambda _, names: made.off.append(names))
    monkeypatch.setattr(converge, "properties", made.properties)
    monkeypatch.setattr(packages, "installed", lambda *_: False)
    monkeypatch.setattr(health, "PATIENCE", 0.0)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: DEBIAN)

    @contextmanager
    def connected(*_: object, **__: object) -> Iterator[Monitors]:
        yield cluster

    for module in (monitors, converge):
        monkeypatch.setattr(module, "connected", connected)
    return made


def step(name: str = "maintain", of: StorageNode | None = None, *, check: bool = False, **other: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"known": False, "silent": [], **other}
    return converge.converge(of or node(), Changes(check=check), step=name, **options)  # type: ignore[arg-type]  # a step


def made(of: StorageNode | None = None) -> None:
    """Bring a host through its first run."""
    step(of=of)
    step("monitor", of)
    step("daemons", of)


def test_a_first_run_makes_monitor_and_osd_once_and_a_second_one_nothing(host: Host) -> None:
    first = step()
    assert first["waits"] == ["monitor", "osd"]
    assert not first["known"]
    assert host.verbs == [], "no daemon runs before it has data"
    assert step("monitor")["waits"] == ["osd"]
    assert host.verbs == ["start ceph-mon@storage-1.service"], "a manager would give up before there is a quorum"
    assert not step("monitor")["known"], "without an OSD a missing monitor asks no quorum, which may not be"
    assert step("daemons")["waits"] == []
    assert host.verbs[1:] == ["start ceph-mgr@storage-1.service", "start ceph-osd@5.service"]
    assert host.programs() == ["monmaptool", "ceph-mon", "ceph-authtool", "ceph-osd"]
    host.called.clear()
    for again in ("maintain", "monitor", "daemons"):
        said = step(again)
        assert (said["changed"], said["known"], said["waits"], said["due"]) == (False, True, [], []), again
    assert host.programs() == []


def test_check_mode_changes_nothing_and_says_what_it_would(host: Host, tmp_path: Path) -> None:
    step(check=True)
    assert step("monitor", check=True)["changes"][-1] == "make the data of monitor storage-1"
    assert step("daemons", check=True)["changes"][-1] == "make an OSD on a file of 1 GiB (osd)"
    assert (host.called, host.verbs) == ([], [])
    assert list((tmp_path / "lib/osd").iterdir()) == []
    assert not (tmp_path / "etc").exists()


def test_no_key_is_in_a_change_or_a_diff_or_an_argument(host: Host) -> None:
    said = [step(), step("monitor"), step("daemons")]
    assert "key of" not in repr([one["changes"] for one in said]) + repr([one["diff"] for one in said])
    assert "key of" not in repr(host.called)
    assert "key of" not in repr(node())


@pytest.mark.parametrize("program", ["monmaptool", "ceph-mon"])
def test_a_killed_monitor_is_made_again_and_never_half(host: Host, program: str) -> None:
    step()
    host.breaks = program
    with pytest.raises(KeyboardInterrupt):
        step("monitor")
    assert not disk.has_store(node())
    host.breaks = ""
    assert step("monitor")["waits"] == ["osd"]
    assert disk.has_store(node())
    assert not list((model.LIB / "tmp").iterdir()), "keys are left nowhere"


@pytest.mark.parametrize("program", ["ceph-authtool", "ceph-osd"])
def test_a_killed_osd_goes_on_with_its_number_and_key(host: Host, cluster: Monitors, program: str) -> None:
    step()
    step("monitor")
    host.breaks = program
    with pytest.raises(KeyboardInterrupt):
        step("daemons")
    assert disk.osds(node()) == {}
    host.breaks = ""
    assert step("daemons")["waits"] == []
    assert len(cluster.numbers) == 1
    assert list(disk.osds(node()).values()) == [5]


def test_an_osd_that_the_cluster_knows_with_another_key_is_not_made_anew(host: Host, cluster: Monitors) -> None:
    cluster.answers["osd dump"] = {"osds": [{"osd": 5, "uuid": node().osds[0].uuid}]}
    step()
    step("monitor")
    with pytest.raises(GroundupError, match="storage_replace -e replace_machine=storage-1 -e replace_osd=5"):
        step("daemons")
    assert "ceph-osd" not in host.programs()


def test_a_lost_monitor_joins_the_quorum_and_begins_no_second_cluster(host: Host) -> None:
    step()
    said = step("monitor", known=True)
    assert said["changes"][0] == "make the data of monitor storage-1, as a member of the quorum"
    assert "monmaptool" not in host.programs()


def test_no_cluster_is_begun_while_a_host_did_not_say_whether_there_is_one(host: Host) -> None:
    step()
    with pytest.raises(GroundupError, match="storage-3 did not say"):
        step("monitor", silent=["storage-3"])
    assert host.programs() == []
    assert step("monitor", known=True, silent=["storage-3"])["waits"] == ["osd"]


def test_the_only_monitor_is_not_made_anew_beside_osds(host: Host) -> None:
    alone = node(monitors={"storage-1": "10.0.0.1"})
    with pytest.raises(GroundupError, match="Recovery using OSDs"):
        step("monitor", alone, known=True)
    assert "ceph-mon" not in host.programs()


@pytest.mark.usefixtures("host")
def test_another_cluster_on_the_host_is_refused_by_name() -> None:
    made()
    foreign = disk.OSDS / "ceph-9"
    foreign.mkdir()
    (foreign / "ceph_fsid").write_text(FOREIGN)
    with pytest.raises(GroundupError, match=rf"ceph-9 is of another Ceph: {FOREIGN}"):
        step()
    (foreign / "ceph_fsid").unlink()
    foreign.rmdir()
    conf = model.CONF.read_text()
    model.CONF.write_text(conf.replace(FSID, FOREIGN))
    with pytest.raises(GroundupError, match=r"ceph\.conf is of another Ceph"):
        step()
    model.CONF.write_text(conf)
    (model.LIB / "mon/ceph-storage-1" / disk.FSID).unlink()
    with pytest.raises(GroundupError, match="that this product did not make"):
        step()


@pytest.mark.usefixtures("host")
def test_another_release_of_debian_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"ID": "debian", "VERSION_ID": "12", "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: other)
    with pytest.raises(GroundupError, match=r"bookworm\) has no Ceph 18"):
        step()


def test_a_unit_of_the_packages_that_fails_is_off_and_one_that_works_stays(host: Host) -> None:
    step()
    host.failed = "nvmf-autoconnect.service"
    step()
    assert host.off == [["ceph-crash.service"], ["ceph-crash.service", "nvmf-autoconnect.service"]]


@pytest.mark.usefixtures("host")
def test_a_host_without_monitor_has_no_key_of_the_administrator() -> None:
    step(of=node("storage-4"))
    assert [path.name for path in model.ETC.iterdir()] == ["ceph.conf"]
    step(of=node("storage-1"))
    admin = model.ETC / "ceph.client.admin.keyring"
    assert admin.stat().st_mode & 0o777 == 0o600
    assert "mon." not in admin.read_text()


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("entity", ["client.admin", "mgr.storage-1"])
def test_a_key_that_the_cluster_was_made_with_is_not_overwritten_by_another_store_s(entity: str) -> None:
    step(of=node(keys={**node().keys, entity: "of a run before there was a cluster"}))
    made()
    before = {path: path.read_text() for path in (*model.ETC.iterdir(), *model.LIB.glob("mgr/*/*"))}
    with pytest.raises(GroundupError, match=f"the store has another key for {entity} than storage-1") as caught:
        step(of=node(keys={**node().keys, entity: "made anew"}))
    assert "made anew" not in str(caught.value)
    assert {path: path.read_text() for path in before} == before


@pytest.mark.usefixtures("host")
def test_a_host_that_is_forgotten_stops_the_run_before_the_others_configuration_is_written(
    cluster: Monitors, tmp_path: Path
) -> None:
    made()
    written = (tmp_path / "etc/ceph.conf").read_text()
    cluster.answers |= {"osd df": {"nodes": []}, "mon dump": quorum(MONITORS)}
    fewer = {name: address for name, address in MONITORS.items() if name != "storage-3"}
    with pytest.raises(GroundupError, match="storage-3 left the site file"):
        step(of=node(monitors=fewer, hosts=list(fewer)))
    assert (tmp_path / "etc/ceph.conf").read_text() == written
    cluster.answers["mon dump"] = quorum(fewer)
    assert step(of=node(monitors=fewer, hosts=list(fewer)))["due"], "it was retired: daemons take up who is left"


def test_a_manager_that_is_not_the_first_waits_until_the_cluster_knows_its_key(host: Host, cluster: Monitors) -> None:
    later = node(managers=("storage-2", "storage-3"))
    for name in ("maintain", "monitor", "daemons"):
        step(name, of=later)
    host.verbs.clear()
    cluster.answers["auth ls"] = {"auth_dump": []}
    said = step()
    assert said["waits"] == ["manager"]
    assert host.verbs == []
    assert "import the key of mgr.storage-1" in step("daemons")["changes"]
    assert cluster.told[-1][0] == "auth import"
    assert host.verbs == ["start ceph-mgr@storage-1.service"]


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.usefixtures("host")
def test_a_gateway_ends_with_the_service_in_the_site_file(monkeypatch: pytest.MonkeyPatch, *, wanted: bool) -> None:
    left: list[Changes] = []
    monkeypatch.setattr(gateway, "leave", left.append)
    for name in ("maintain", "restart"):
        step(name, node(gateway=GATEWAY if wanted else None))
    assert len(left) == (not wanted)
