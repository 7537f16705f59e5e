"""The state directory is put back by a run that is killed, over what was there, of links, and of another site."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import state
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import state as saved
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

from .restoring import Make, archive, job

NAMES = ("ca.crt", "cluster.json", "kubeconfig", "pki/edge.crt", "secrets.yml", "ssh/id_ed25519", "zones.json")


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the state directories of a new control node are to be."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    return tmp_path / "new"


def content(home: Path) -> dict[str, str]:
    return {str(one.relative_to(home)): one.read_text() for one in sorted(home.rglob("*")) if one.is_file()}


def test_wherever_a_run_is_killed_a_store_is_among_all_its_files_and_the_next_run_ends_it(
    plan: Plan, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer, number, ended, home = Killer(), 0, False, state_dir(plan.site)
    for name in ("rename", "replace", "mkdir", "chmod"):
        monkeypatch.setattr(Path, name, killer.after(getattr(Path, name)))
    monkeypatch.setattr(shutil, "rmtree", killer.after(shutil.rmtree))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no power is cut
    while not ended:
        number += 1
        (home / "ssh").mkdir(parents=True)
        (home / "ssh/id_ed25519").write_text("newer than the set")
        killer.left = number
        try:
            state.put(plan.site, [archive(*NAMES)])
            ended = True
        except KeyboardInterrupt:
            killer.left = 0
            if "secrets.yml" not in content(home):
                state.put(plan.site, [archive(*NAMES)])
        killer.left = 0
        found = content(home)
        assert {name: found[name] for name in NAMES} == {name: name for name in NAMES}
        assert "newer than the set" in found.values(), "what was there is nowhere else"
        shutil.rmtree(lost)
    assert number > 15


def test_what_was_there_is_set_aside_unless_it_is_the_same(plan: Plan, lost: Path) -> None:
    home = state_dir(plan.site)
    home.mkdir(parents=True)
    (home / "kubeconfig").write_text("of a newer certificate")
    (home / "ca.crt").write_text("ca.crt")
    (home / "own.json").write_text("of nobody's set")
    number, aside = state.put(plan.site, [archive(*NAMES)])
    assert number == len(NAMES)
    assert aside
    assert content(aside) == {"kubeconfig": "of a newer certificate"}
    assert aside.stat().st_mode & 0o777 == 0o700
    assert (home / "own.json").exists()
    assert lost in aside.parents


def test_what_another_restore_left_is_in_no_set_and_put_by_none(plan: Plan, lost: Path, tmp_path: Path) -> None:
    """Its store would take the place of the good one."""
    stale = ".restoring/secrets.yml"
    state.put(plan.site, [archive(*NAMES, stale)])
    home = state_dir(plan.site)
    assert content(home) == {name: name for name in NAMES}
    for name in (stale, "20260101T000000Z.before-restore/kubeconfig"):
        (home / name).parent.mkdir()
        (home / name).write_text("stale")
    (tmp_path / "site.yml").write_text("site: lab")
    kept = [name for name, _ in saved.files(plan.site, str(tmp_path / "site.yml"))]
    assert kept == [*NAMES, "site-file/site.yml"]
    assert lost in home.parents


def test_a_state_that_is_refused_leaves_nothing_of_itself(plan: Plan, lost: Path) -> None:
    def refuse(_: Path) -> None:
        raise GroundupError("another site's", where="here", why="", remedy="")

    with pytest.raises(GroundupError):
        state.put(plan.site, [archive(*NAMES)], judge=refuse)
    assert content(lost) == {}


def test_the_store_is_on_the_disk_after_all_other_files(
    plan: Plan, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut a store alone would say that the restore has ended."""
    done, home, move, fsync = list[str](), state_dir(plan.site), Path.replace, os.fsync

    def moved(self: Path, target: Path) -> Path:
        done.append(f"move {target.relative_to(home)}")
        return move(self, target)

    def synced(handle: int) -> None:
        place = Path(f"/proc/self/fd/{handle}").readlink()
        done.append(f"sync {place.relative_to(home)}" if place.is_dir() and home in (place, *place.parents) else "")
        fsync(handle)

    monkeypatch.setattr(Path, "replace", moved)
    monkeypatch.setattr(os, "fsync", synced)
    state.put(plan.site, [archive(*NAMES)])
    last = done.index("move secrets.yml")
    assert {"sync .", "sync pki", "sync ssh"} <= set(done[done.index("move zones.json") : last])
    assert "sync ." in done[last:]
    assert lost.exists()


def test_links_are_saved_with_what_they_lead_to(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, elsewhere = state_dir(plan.site), tmp_path / "elsewhere"
    elsewhere.write_text("kept in another place")
    (home / "clouds.yaml").symlink_to(elsewhere)
    (home / "openrc").hardlink_to(elsewhere)
    packed = bytearray()
    site_file = tmp_path / "site.yml"
    site_file.write_text("site: lab")
    about = saved.take(saved.files(plan.site, str(site_file)), packed.extend)
    assert saved.judge(saved.NEEDED, about, saved.names([bytes(packed)])) == []
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    state.put(plan.site, [bytes(packed)])
    assert (state_dir(plan.site) / "clouds.yaml").read_text() == "kept in another place"
    assert (state_dir(plan.site) / "openrc").read_text() == "kept in another place"


def test_a_file_that_goes_while_the_state_is_saved_is_not_missed(plan: Plan, tmp_path: Path) -> None:
    """What writes a file in place makes another one beside it first."""
    site_file = tmp_path / "site.yml"
    site_file.write_text("site: lab")
    (state_dir(plan.site) / ".kubeconfig.x1").write_text("half")
    files, packed = saved.files(plan.site, str(site_file)), bytearray()
    (state_dir(plan.site) / ".kubeconfig.x1").unlink()
    about = saved.take(files, packed.extend)
    assert saved.judge(saved.NEEDED, about, saved.names([bytes(packed)])) == []


def test_the_state_of_another_site_of_the_name_is_refused_before_it_is_put(
    plan: Plan, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site_identity.adopt(plan)
    record = (state_dir(plan.site) / site_identity.RECORD).read_text()
    made(contents={"state": archive("secrets.yml", **{site_identity.RECORD: record})})
    shutil.copytree(state_dir(plan.site) / "backups", tmp_path / "sets")
    source = str(next((tmp_path / "sets/sets").iterdir()))
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    other = replace(plan, domain="other.test")
    with pytest.raises(GroundupError, match=r"its domain is lab.test, that of the site file other.test") as caught:
        job(other, parts=["state"], source=source).state()
    assert source in caught.value.where
    assert "secrets.yml" not in content(state_dir(plan.site))
    assert job(other, parts=["state"], source=source, site_force=["other-site"]).state()["changed"]
    assert "secrets.yml" in content(state_dir(plan.site))
