"""The life of a Ceph with data in it: a host joins, a disk is replaced, a host leaves, while a client writes.

Needs what the tier `storage` made of tests/e2e/storage/site.yml. Each case prints a line of JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.e2e.cluster import command, play
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root
from ansible_collections.groundup.cloud.tests.e2e.test_storage import Ask, Write, ask, ceph, healthy, write
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.e2e.writing import Writer

pytestmark = pytest.mark.lab
__all__ = ["ask", "ceph", "write"]  # fixtures

BLOCKS = 20
OLD = ("storage-1", "storage-2", "storage-3")
NEW, LEAVES = "storage-4", "storage-2"  # the second has a monitor and a manager


def written(directory: Path, hosts: str) -> Path:
    """Write the site with other storage hosts."""
    text = re.sub(r"storage: \{count: 3\}", f"storage: {{{hosts}}}", SITE_FILE.read_text())
    assert hosts in text
    path = directory / "site.yml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with one more host."""
    return written(tmp_path_factory.mktemp("four"), "count: 4")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without the host that leaves."""
    return written(tmp_path_factory.mktemp("without"), "names: [storage-1, storage-3, storage-4]")


def recap(said: str) -> dict[str, int]:
    """Return how many tasks changed something on each host."""
    return {name: int(count) for name, count in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", said, re.MULTILINE)}


def started(connect: Connect, hosts: tuple[str, ...]) -> dict[str, str]:
    """Return since when the daemons of hosts run."""
    asked = "systemctl show --property Id,ActiveEnterTimestampMonotonic 'ceph-osd@*' 'ceph-mon@*'"
    return {name: root(connect(name), asked) for name in hosts}


def told(capfd: pytest.CaptureFixture[str], case: str, began: float, writer: Writer | None = None) -> None:
    """Print what a case cost."""
    lost = {"blocks": writer.blocks, "lost": writer.lost, "slowest": writer.slowest} if writer else {}
    with capfd.disabled():
        print("\n" + json.dumps({"case": case, "seconds": round(time.monotonic() - began, 1), **lost}), flush=True)


def test_a_host_joins_and_nothing_is_changed_on_the_others(
    four: Path, connect: Connect, ask: Ask, capfd: pytest.CaptureFixture[str]
) -> None:
    before = started(connect, OLD)
    for layer in ("metal", "host"):
        play(layer, site=four)
    began = time.monotonic()
    changed = recap(play("storage", site=four))
    told(capfd, "host joined", began)
    assert changed[NEW] > 0
    assert (changed["storage-2"], changed["storage-3"]) == (0, 0), changed
    assert changed["storage-1"] <= 1, "pools may have more placement groups"
    assert started(connect, OLD) == before
    until(lambda: healthy(ask, OLD[0]), seconds=120)  # placement groups are split, and move
    assert len(ask("osd ls-tree " + NEW)) == 1


def test_a_lost_disk_is_replaced_under_its_number_while_a_client_writes(
    four: Path, connect: Connect, ask: Ask, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    host = OLD[2]
    (number,) = ask("osd ls-tree " + host)
    unit = f"ceph-osd@{number}.service"
    with write(OLD[0], "kept-disk") as writer:
        writer.more(BLOCKS)
        root(
            connect(host),
            f"systemctl kill --signal KILL {unit}; systemctl stop {unit}; rm -r /var/lib/ceph/osd/ceph-{number}",
        )
        writer.more(BLOCKS)
        said = play("storage", "--tags", "check", site=four, code=2)
        assert f"storage_replace -e replace_machine={host} -e replace_osd={number}" in said
        began = time.monotonic()
        play("storage_replace", site=four, replace_machine=host, replace_osd=number)
        writer.more(BLOCKS)
        writer.end()
    told(capfd, "disk replaced", began, writer)
    assert writer.lost == 0
    assert ask("osd ls-tree " + host) == [number]
    assert healthy(ask, OLD[0])


def test_a_host_that_left_the_site_file_with_data_is_named_with_its_verb(without: Path, connect: Connect) -> None:
    play("secrets", site=without)  # another host is to have a manager
    before = root(connect(OLD[0]), "cat /etc/ceph/ceph.conf")
    for tags in (("--tags", "check"), ()):
        said = play("storage", *tags, site=without, code=2)
        assert f"{LEAVES} left the site file, and the cluster has OSDs or a monitor there" in said
        assert f"groundup.cloud.drain -e machine={LEAVES}" in said
    assert root(connect(OLD[0]), "cat /etc/ceph/ceph.conf") == before
    said = play("erase", site=without, code=2, machine=LEAVES)
    assert f", a monitor on {LEAVES}" in said
    assert "groundup.cloud.retire" in said


def test_a_host_with_data_does_not_leave(four: Path) -> None:
    said = play("retire", site=four, code=2, machine=LEAVES)
    assert f"groundup.cloud.drain -e machine={LEAVES}" in said


def test_a_host_is_drained_while_a_client_writes(
    four: Path, ask: Ask, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    said = play("drain", "--tags", "check", site=four, machine=LEAVES)
    assert "placement groups to other hosts" in said
    assert not any(one["crush_weight"] == 0 for one in ask("osd df")["nodes"])
    with write(OLD[0], "kept-drain") as writer:
        writer.more(BLOCKS)
        began = time.monotonic()
        with subprocess.Popen(
            command("drain", "-e", f"machine={LEAVES}", site=four),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as draining:  # fmt: skip
            while draining.poll() is None:
                states = ask("pg stat")["pg_summary"]["num_pg_by_state"]
                assert not [one for one in states if re.search("peered|down|incomplete", one["name"])], states
                writer.more(1)
            assert draining.returncode == 0, draining.stdout and draining.stdout.read()
        writer.more(BLOCKS)
        writer.end()
    told(capfd, "host drained", began, writer)
    assert writer.lost == 0
    assert [one["pgs"] for one in ask("osd df")["nodes"] if one["crush_weight"] == 0] == [0]


def test_another_host_cannot_be_drained_because_copies_would_have_no_place(four: Path) -> None:
    said = play("drain", site=four, code=2, machine=OLD[2])
    assert re.search(r"3 copies of pools .*, no two in one host, and OSDs in 2 would stay", said)


def test_a_drained_host_is_taken_back(four: Path, ask: Ask) -> None:
    play("undrain", site=four, machine=LEAVES)
    assert not any(one["crush_weight"] == 0 for one in ask("osd df")["nodes"])
    said = play("storage_drain", site=four, drain_machine=LEAVES)  # the old names, once
    assert "storage_drain ends with the next release; use drain" in said


def test_an_empty_host_leaves_with_its_monitor_and_another_host_gets_one(
    *, four: Path, without: Path, connect: Connect, ask: Ask, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    with write(OLD[0], "kept-retire") as writer:
        writer.more(BLOCKS)
        began = time.monotonic()
        play("retire", site=four, machine=LEAVES)
        assert set(ask("quorum_status")["quorum_names"]) == {"storage-1", "storage-3"}
        assert root(connect(LEAVES), "ls /var/lib/ceph/osd /var/lib/ceph/mon /etc/ceph").split() == [
            "/etc/ceph:", "rbdmap", "/var/lib/ceph/mon:", "/var/lib/ceph/osd:",
        ]  # fmt: skip
        assert root(connect(LEAVES), "pgrep -c ceph- || true").strip() == "0"
        told(capfd, "host retired", began)
        began = time.monotonic()
        play("storage", site=without)
        writer.more(BLOCKS)
        writer.end()
    told(capfd, "monitor moved, daemons restarted", began, writer)
    assert writer.lost == 0
    assert set(ask("quorum_status")["quorum_names"]) == {"storage-1", "storage-3", NEW}
    assert healthy(ask, OLD[0])
    assert ask("config-key dump groundup/") == {}, "no flag and no record is left"
    again = recap(play("storage", site=without))
    assert set(again.values()) == {0}, again
    accepted = ["cluster-silent", "cloud-silent"]  # neither was made here
    said = play("erase", site=without, code=2, machine=LEAVES, erase_force=accepted)
    assert "the site has no seed" in said, "Ceph lets it go"


def test_without_a_quorum_the_card_says_which_monitors_answer(without: Path, connect: Connect, ask: Ask) -> None:
    host = OLD[2]
    others = {"storage-1": connect("storage-1"), host: connect(host)}
    root(others[host], f"systemctl stop ceph-mon@{host}")
    until(lambda: host not in ask("quorum_status")["quorum_names"], seconds=60)
    root(others["storage-1"], "systemctl stop ceph-mon@storage-1")
    try:
        said = play("storage", "--tags", "verify", site=without, code=2, storage_timeout=5)
        assert "no quorum of monitors for client.admin: 1 of 3 answer, 2 are needed" in said, said[-4000:]
        assert re.search(rf"storage-1 \(\S+\) does not, {host} \(\S+\) does not, {NEW} \(\S+\) answers", said)
    finally:
        for name, one in others.items():
            root(one, f"systemctl start ceph-mon@{name}")
    until(lambda: healthy(ask, OLD[0]), seconds=120)
