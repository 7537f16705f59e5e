"""Disks of instances in Ceph: what nova-compute is given, whose key it is, and that none is looked for elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import hypervisor as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import ownership
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import Unit
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import checks, converge, disks, services
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import site_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

INSTANCE = "457eb676-33da-42ec-9a8c-9293d545c337"
WANTED = disks.Disks(client="client.nova", uuid=INSTANCE, conf="[global]\nfsid = its-id\n", key="QVFB-key==")
FILES, IMAGES = ("[libvirt]\nimages_type = qcow2\n", "[libvirt]\nimages_type = rbd\n")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host whose nova-compute has disks as files, with Debian's Python for Ceph."""
    for name in ("CONF", "KEYRING"):
        monkeypatch.setattr(disks, name, str(tmp_path / name))
    for name, path in {"DROP_IN": "unit.d/ceph.conf", "INSTANCES": "instances", "PYTHON": "python"}.items():
        monkeypatch.setattr(disks, name, tmp_path / path)
    monkeypatch.setattr(disks, "_PACKAGED", tmp_path / "packaged")
    monkeypatch.setattr(disks, "group_id", lambda _: None)
    monkeypatch.setattr(services, "NOVA", (tmp_path / "nova.conf", tmp_path / "host.conf"))
    for name in ("rados.cpython-313-x86_64-linux-gnu.so", "rbd.cpython-313-x86_64-linux-gnu.so", "yaml.py"):
        (tmp_path / "packaged").mkdir(exist_ok=True)
        (tmp_path / "packaged" / name).touch()
    (tmp_path / "host.conf").write_text(FILES)
    (tmp_path / "instances/_base").mkdir(parents=True)
    return tmp_path


def placed(host: Path, wanted: disks.Disks | None, *, check: bool = False) -> tuple[Changes, Unit]:
    changes = Changes(check=check)
    compute = Unit(changes, services.COMPUTE, marks=host / "marks")
    disks.place(changes, compute, wanted)
    return changes, compute


def test_nova_logs_in_with_its_own_key_and_debians_python_and_is_started_anew(host: Path) -> None:
    changes, compute = placed(host, WANTED)
    assert compute.stale
    assert (host / "KEYRING").read_text() == "[client.nova]\nkey = QVFB-key==\n"
    assert (host / "KEYRING").stat().st_mode & 0o777 == 0o640
    assert sorted(one.name.partition(".")[0] for one in (host / "python").iterdir()) == ["rados", "rbd"]
    assert f"PYTHONPATH={host / 'python'}" in (host / "unit.d/ceph.conf").read_text()
    assert "QVFB" not in repr(WANTED) + str(changes.result())
    (host / "marks" / f"{services.COMPUTE}.changed").unlink()  # as its restart does
    assert placed(host, WANTED)[0].done == []


def test_a_host_whose_own_files_they_are_keeps_nothing_of_it(host: Path) -> None:
    assert placed(host, None)[0].done == []
    placed(host, WANTED)
    placed(host, None)
    assert not any((host / name).exists() for name in ("CONF", "KEYRING", "unit.d/ceph.conf"))


def test_a_prediction_places_nothing(host: Path) -> None:
    assert placed(host, WANTED, check=True)[0].done
    assert not (host / "KEYRING").exists()


@pytest.fixture
def refuse(host: Path) -> Callable[..., None]:
    """Refuse another place than that of the host's files."""

    def run(text: str, *, pool: str = "vms", fsid: str = "its-id") -> None:
        configuration = {"cluster": f"[libvirt]\nimages_rbd_pool = {pool}\n", "host": text}
        disks.refuse_another(configuration, f"[global]\nfsid = {fsid}\n", hardware="own", host="hypervisor-1")

    (host / "nova.conf").write_text("[libvirt]\nimages_rbd_pool = vms\n")
    (host / "CONF").write_text("[global]\nfsid = its-id\n")
    return run


@pytest.mark.parametrize("directory", [INSTANCE, f"{INSTANCE}_resize"])
def test_another_place_is_refused_while_the_host_has_an_instance(
    host: Path, refuse: Callable[..., None], directory: str
) -> None:
    refuse(IMAGES)
    (host / "instances" / directory).mkdir()
    with pytest.raises(GroundupError, match=f"(?s){directory}.*hardware.own.compute.disks.*drain") as caught:
        refuse(IMAGES)
    assert "files of the host" in caught.value.what
    refuse(FILES)
    refuse(FILES, pool="other", fsid="other")


@pytest.mark.parametrize("other", [{"pool": "other"}, {"fsid": "other"}])
def test_another_pool_and_another_ceph_are_another_place(
    host: Path, refuse: Callable[..., None], other: dict[str, str]
) -> None:
    (host / "host.conf").write_text(IMAGES)
    refuse(IMAGES, **other)
    (host / "instances" / INSTANCE).mkdir()
    refuse(IMAGES)
    with pytest.raises(GroundupError, match=r"images in Ceph its-id, pool vms, .* would be images in Ceph .*other"):
        refuse(IMAGES, **other)


def test_a_host_that_does_not_say_where_its_instances_have_their_disks_is_refused(
    host: Path, refuse: Callable[..., None]
) -> None:
    (host / "host.conf").unlink()
    refuse(IMAGES)  # a new one
    (host / "instances" / INSTANCE).mkdir()
    with pytest.raises(GroundupError, match="disks that are nobody knows where") as caught:
        refuse(IMAGES)
    assert caught.value.remedy == f"put {host / 'host.conf'} back"
    refuse(action.FORESEEN)  # a prediction before there is a cluster


def test_a_host_with_instances_keeps_its_name_in_nova(host: Path) -> None:
    own = host / "host.conf"
    own.write_text(f"[DEFAULT]\nhost = hypervisor-1\n{FILES}")
    disks.refuse_renamed("[DEFAULT]\nhost = rack-7\n", host="rack-7")
    (host / "instances" / INSTANCE).mkdir()
    with pytest.raises(GroundupError, match=r"is hypervisor-1 in Nova, with 1 instance\(s\), 457eb676"):
        disks.refuse_renamed("[DEFAULT]\nhost = rack-7\n", host="rack-7")
    disks.refuse_renamed("[DEFAULT]\nhost = hypervisor-1\n", host="hypervisor-1")
    disks.refuse_renamed(action.FORESEEN, host="rack-7")


def test_the_layer_refuses_a_renamed_host_and_another_place_before_it_changes_anything(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host / "instances" / INSTANCE).mkdir()
    (host / "host.conf").write_text(f"[DEFAULT]\nhost = hypervisor-1\n{FILES}")
    for module, name in ((ownership, "refuse_other"), (checks, "refuse")):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    wanted: dict[str, Any] = {
        "site": "unit",
        "compute": {},
        "hardware": "own",
        "disks": {},
        "sriov": [],
        "release_step": True,
    }
    for name, text, said in (("rack-7", FILES, "is hypervisor-1 in Nova"), ("hypervisor-1", IMAGES, "would be images")):
        nova = {"cluster": "", "host": f"[DEFAULT]\nhost = {name}\n{text}"}
        with pytest.raises(GroundupError, match=said):
            converge.converge(Changes(check=False), wanted | {"name": name, "configuration": {"nova": nova}})


def site(where: str) -> Plan:
    own = {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False, "compute": {"disks": where}}
    groups = {name: {"count": 1} for name in ("seed", "control", "worker")}
    hypervisor = {"count": 1, "hardware": "own"}
    content = {"plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab"}
    machines = {**groups, "storage": {"count": 3}, "hypervisor": hypervisor}
    return make_plan(
        build_site({**content, "machines": machines, "storage": {"backend": "native"}, "hardware": {"own": own}})
    )


def test_only_hosts_whose_hardware_says_so_are_given_novas_key() -> None:
    found = site("ceph")
    assert found.ceph
    assert found.hypervisor.disks == found.ceph.clients["nova"]
    told = action.disks(site_vars(found), {"hardware": "own"})
    assert (told["client"], told["uuid"]) == ("client.nova", found.ceph.clients["nova"].uuid)
    assert f"keyring = {disks.KEYRING}" in told["conf"]
    assert site("host").hypervisor.disks is None
    assert action.disks(site_vars(site("host")), {"hardware": "own"}) == {}
