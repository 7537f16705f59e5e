"""A node whose data disk is not mounted is neither started nor changed: an empty etcd would be a new cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import data, documents
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths

from .conftest import CA, FakeHost, Seen, begin, finish, make_node, write


def starts(paths: Paths, *, path: str = os.environ["PATH"]) -> tuple[int, str]:
    """Run what the kubelet's unit runs before the kubelet, and return its exit code and what it says."""
    text = data.SCRIPT_TEXT.replace("/etc/kubernetes/site", str(paths.site))
    env = {"PATH": path}
    done = subprocess.run(["/bin/sh", "-s"], input=text, capture_output=True, text=True, check=False, env=env)
    return done.returncode, done.stderr


@pytest.fixture
def member(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """A control host that has run once, with its etcd below a mount."""
    finish(paths, control=True, ca=CA)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == paths.etcd)
    host.answers["crictl pods"] = "{}"
    Seen.of(make_node(), host)
    return host


def test_the_unit_of_the_kubelet_looks_before_each_start() -> None:
    assert f"\nExecStartPre={data.SCRIPT}\n" in documents.KUBELET_UNIT
    assert "\nRequiresMountsFor=/var/lib/kubelet /var/lib/etcd\n" in documents.KUBELET_UNIT


def test_a_host_that_is_no_member_yet_starts_its_kubelet(paths: Paths) -> None:
    assert starts(paths) == (0, "")


def test_a_member_writes_down_its_mounts_and_its_etcd(member: FakeHost, paths: Paths) -> None:
    assert (paths.site / data.FILE).read_text() == "mounted /var/lib/etcd\nexists /var/lib/etcd/member\n"
    assert Seen.of(make_node(), member).actions == []


def test_a_member_without_its_etcd_data_is_refused_and_its_kubelet_held_back(member: FakeHost, paths: Paths) -> None:
    shutil.rmtree(paths.etcd / "member")
    (paths.site / data.FILE).write_text(f"exists {paths.etcd}/member\n")
    code, said = starts(paths)
    assert code == 1
    assert f"{paths.etcd}/member is missing" in said
    (paths.site / data.FILE).write_text("exists /var/lib/etcd/member\n")
    member.commands.clear()
    member.services.clear()
    with pytest.raises(GroundupError, match=r"(?s)control-1 is a node, and /var/lib/etcd/member is not there.*findmnt"):
        Seen.of(make_node(), member)
    assert (member.commands, member.services) == ([], [])


def test_a_member_whose_disk_is_not_mounted_is_refused(
    member: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda _: False)
    with pytest.raises(GroundupError, match="and /var/lib/etcd is not mounted"):
        Seen.of(make_node(), member)
    (paths.site / data.FILE).write_text(f"mounted {paths.etcd}\n")
    code, said = starts(paths)
    assert code == 1
    assert f"{paths.etcd} is not mounted" in said


def test_the_unit_and_a_run_mean_the_same_by_a_mount(paths: Paths, tmp_path: Path) -> None:
    """A subvolume of btrfs is one to a run, and none to `mountpoint`: the kubelet would never start again."""
    write(paths, "/usr/bin/mountpoint", "#!/bin/sh\nexit 1\n")
    paths.at("/usr/bin/mountpoint").chmod(0o755)
    write(paths, f"/etc/kubernetes/site/{data.FILE}", "mounted /proc\n")
    assert Path("/proc").is_mount()
    assert starts(paths, path=f"{paths.at('/usr/bin')}:{os.environ['PATH']}") == (0, "")
    write(paths, f"/etc/kubernetes/site/{data.FILE}", f"mounted {tmp_path}\n")
    assert not tmp_path.is_mount()
    assert starts(paths)[0] == 1


def test_what_a_former_member_had_does_not_hold_a_new_one_back(paths: Paths) -> None:
    """After a reset by hand: the record is beside the configuration, which kubeadm reset leaves."""
    write(paths, f"/etc/kubernetes/site/{data.FILE}", "exists /var/lib/etcd/member\n")
    begin(paths, verb="join")
    assert starts(paths) == (0, "")


def test_a_worker_without_mounts_has_nothing_to_write_down(paths: Paths) -> None:
    changes = Changes(check=False)
    data.keep(paths, changes, control=False)
    assert changes.done == []
