"""What is done on a hypervisor itself: environments, refusals, files."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import environment
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import checks, openvswitch, services
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.machines import Compute

NEW, OLD = "a" * 64, "b" * 64


def serve(monkeypatch: pytest.MonkeyPatch, path: Path, *, python: str) -> None:
    """Have the file server give an environment whose Python is ``python``."""
    home, made = path / "made", path / "environment.tar.gz"
    (home / "bin").mkdir(parents=True)
    (home / "bin/python").symlink_to(python)
    with tarfile.open(made, "w:gz") as tar:
        tar.add(home, arcname=".")

    def fetch(_download: object, target: Path, **_how: object) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made.read_bytes())

    monkeypatch.setattr(environment, "fetch", fetch)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have the file server give an environment that starts."""
    serve(monkeypatch, tmp_path, python="/bin/true")


@pytest.mark.usefixtures("served")
def test_an_environment_is_placed_whole_and_is_current_only_after_the_switch(tmp_path: Path) -> None:
    root, changes = tmp_path / "root", Changes(check=False)
    name, current = environment.place(changes, release="2026.1", url="u", sha256=NEW, ca=None, root=root)
    assert (name, current, environment.current(root)) == ("2026.1-aaaaaaaaaaaa", False, "")
    environment.switch(changes, name, root=root)
    assert environment.current(root) == name
    assert sorted(one.name for one in root.iterdir()) == [name, "current"], "nothing half done beside it"
    again = Changes(check=False)
    assert environment.place(again, release="2026.1", url="u", sha256=NEW, ca=None, root=root) == (name, True)
    assert again.done == []


@pytest.mark.usefixtures("served")
def test_the_former_environment_is_kept_and_the_one_before_it_goes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for digest in ("c" * 64, OLD, NEW):
        changes = Changes(check=False)
        name, _ = environment.place(changes, release="2026.1", url="u", sha256=digest, ca=None, root=root)
        environment.switch(changes, name, root=root)
    assert sorted(one.name for one in root.iterdir()) == ["2026.1-aaaaaaaaaaaa", "2026.1-bbbbbbbbbbbb", "current"]


def test_a_dry_run_says_what_it_would_place_and_asks_nobody(tmp_path: Path) -> None:
    changes = Changes(check=True)
    environment.place(changes, release="2026.1", url="u", sha256=NEW, ca=None, root=tmp_path)
    assert changes.done == [f"place {tmp_path}/2026.1-aaaaaaaaaaaa"]
    assert list(tmp_path.iterdir()) == []


def test_an_environment_of_another_debian_is_refused_and_nothing_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(monkeypatch, tmp_path, python="/bin/false")
    root = tmp_path / "root"
    with pytest.raises(GroundupError, match="made for one Debian release"):
        environment.place(Changes(check=False), release="2026.1", url="u", sha256=NEW, ca=None, root=root)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("2026.1-aaaaaaaaaaaa", ""), ("2025.2-aaaaaaaaaaaa", "of release 2025.2"), ("", "there is no")],
)
def test_an_environment_of_another_release_than_the_site_files_is_a_fault(name: str, said: str) -> None:
    fault = environment.of_another_release(name, "2026.1")
    assert bool(fault) == bool(said)
    assert said in fault
    assert not fault or ("groundup.cloud.openstack_upgrade" if name else "groundup.cloud.hypervisor") in fault
    assert not environment.of_another_release(name, "2026.1", ["2025.2"]) or not name, "a step is open"


@pytest.mark.usefixtures("served")
def test_services_do_not_go_to_another_release_with_everything_else(tmp_path: Path) -> None:
    root, changes = tmp_path / "root", Changes(check=False)
    environment.refuse_step("2026.1", host="compute-1", root=root)  # a new host
    name, _ = environment.place(changes, release="2026.1", url="u", sha256=NEW, ca=None, root=root)
    environment.switch(changes, name, root=root)
    environment.refuse_step("2026.1", host="compute-1", root=root)
    with pytest.raises(GroundupError, match=r"2026\.1-aaaaaaaaaaaa, and would go to release 2026\.2") as refused:
        environment.refuse_step("2026.2", host="compute-1", root=root)
    assert "groundup.cloud.openstack_upgrade" in refused.value.remedy


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("reserved_cores", 4096, "reserved_cores: 4096"),
        ("reserved_memory_gb", 65536, "reserved_memory_gb: 65536"),
        ("virt_type", "kvm", "/dev/kvm"),
        ("datapath", "netdev", "/dev/net/tun"),
    ],
)
def test_what_a_machine_cannot_do_is_refused_with_the_field(
    field: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checks, "KVM", tmp_path / "kvm")
    monkeypatch.setattr(checks, "TUN", tmp_path / "tun")
    monkeypatch.setattr(checks, "LOADED", tmp_path)  # openvswitch is there
    good: dict[str, Any] = {"virt_type": "qemu", "reserved_cores": 0, "reserved_memory_gb": 0, "datapath": "system"}
    checks.refuse(Compute(**good).model_dump(), hardware="own", host="h")
    with pytest.raises(GroundupError, match=said) as caught:
        checks.refuse(Compute(**{**good, field: value}).model_dump(), hardware="own", host="h")
    assert "hardware.own.compute" in str(caught.value)


def test_a_file_with_a_password_is_its_services_to_read_and_nobodys_else(tmp_path: Path) -> None:
    path, changes = tmp_path / "f", Changes(check=False)
    group = path.parent.stat().st_gid
    files.place(changes, path, "x", mode=0o640, group=group, secret=True)
    assert (path.stat().st_mode & 0o777, path.stat().st_gid) == (0o640, group)
    assert "x" not in str(changes.diffs[0]["after"])


def test_the_name_of_the_chassis_is_written_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(openvswitch, "SYSTEM_ID", tmp_path / "system-id.conf")
    changes = Changes(check=False)
    openvswitch.named(changes, "hypervisor-1")
    assert (tmp_path / "system-id.conf").read_text() == "hypervisor-1\n"
    assert changes.warnings == []


def test_what_only_some_instances_need_is_looked_for_before_they_come(tmp_path: Path) -> None:
    there, lost = tmp_path / "qemu-img", tmp_path / "genisoimage"
    there.touch()
    checks.missing({str(there): "disks"}, host="hypervisor-1")
    with pytest.raises(GroundupError, match=f"{lost} \\(instances with a config drive\\)") as error:
        checks.missing({str(there): "disks", str(lost): "instances with a config drive"}, host="hypervisor-1")
    assert "qemu-img" not in str(error.value)


def test_disks_of_instances_are_nova_s_and_qemu_s_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As systemd made the directory before: everybody could read cached images and disks."""
    monkeypatch.setattr(services, "group_id", lambda _: os.getgid())
    place = tmp_path / "home/instances"
    monkeypatch.setattr(services, "HOME", place.parent)
    services._make(Changes(check=True), os.getuid(), os.getgid())
    assert not place.exists()
    services._make(Changes(check=False), os.getuid(), os.getgid())
    assert place.stat().st_mode & 0o7777 == 0o755, "as it is on hosts of before"
    services.close(changes := Changes(check=False))
    assert (place.stat().st_mode & 0o7777, len(changes.done)) == (0o710, 1)
    services.close(again := Changes(check=False))
    assert again.done == []
    monkeypatch.setattr(services, "group_id", lambda _: None)
    with pytest.raises(GroundupError, match="no group libvirt-qemu"):
        services.close(again)


def test_systemd_keeps_no_directory_of_instances_which_it_would_give_back_to_nova() -> None:
    """It changes the owner of all that is in one whose group is another: disks of running instances are QEMU's."""
    assert "StateDirectory=nova\n" in services._NOVA_UNIT
