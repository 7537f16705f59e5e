"""A real Ceph that fills up: what clients see, that nothing written is lost, and drains that would make it worse.

Hosts are places of the CRUSH map; disks are made full by lower ratios.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.e2e.writing import Writer
from ansible_collections.groundup.cloud.tests.unit.ceph.host import PLAN
from ansible_collections.groundup.cloud.tests.unit.ceph.host import POOL as PLANNED

from .clients import POOL, cards, checks, clean, written
from .loopback import PATIENCE, Loopback

OSDS = 3
CEPH: dict[str, Any] = PLAN | {
    "rules": [{"name": POOL, "failure_domain": "host", "device_class": "hdd"}],
    "pools": {POOL: PLANNED | {"name": POOL, "rule": POOL, "replicas": 2}},
}
OBJECTS, OBJECT_KIB = 40, 4096
# Of the same names each time: they are spread over the OSDs as they were the last time.
_OBJECTS = """
import sys, rados
pool, number, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with rados.Rados(name="client.admin", conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx(pool) as data:
    for one in range(number):
        data.write_full(f"object-{one}", bytes(size))
"""
ASKS_AGAIN = 5.0  # seconds: an OSD whose copy found no room; Ceph's own are 30
AS_THEY_WERE = {"full": 0.95, "backfillfull": 0.9, "nearfull": 0.85}


@pytest.fixture(scope="module")
def room(ceph: Loopback) -> Loopback:
    """Three hosts with an OSD each, and a pool with two copies, one on a host."""
    places = [
        line.format(number=number, host=f"storage-{number + 1}")
        for number in range(OSDS)
        for line in (
            "osd crush set osd.{number} 1.0 root=default host={host}",
            "osd crush rm-device-class osd.{number}",
            "osd crush set-device-class hdd osd.{number}",
        )
    ]
    pool = [
        f"osd crush rule create-replicated {POOL} default host hdd",
        f"osd pool create {POOL} 16 16 replicated {POOL}",
        f"osd pool application enable {POOL} rbd",
    ]
    ceph.run("exec ceph", given="\n".join([*places, *pool]))
    until(lambda: clean(ceph), seconds=PATIENCE)
    return ceph


@pytest.fixture
def _ratios(room: Loopback) -> Iterator[None]:
    """Put the ratios back."""
    yield
    ratios(room, AS_THEY_WERE)


def ratios(ceph: Loopback, wanted: dict[str, float]) -> None:
    """Set ratios, those that are to be higher first."""
    ceph.run("exec ceph", given="\n".join(f"osd set-{name}-ratio {ratio}" for name, ratio in wanted.items()))


def silent(writer: Writer, *, seconds: float) -> bool:
    """Read blocks on until none is written for a while; say whether that came."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert writer.process.stdout
        if not select.select([writer.process.stdout], [], [], seconds)[0]:
            return True
        writer.more(1)
    return False


def held(ceph: Loopback) -> int:
    """Return the data that OSDs say they have, in KiB."""
    return sum(one["kb_used_data"] for one in ceph.ask("osd", "df")["nodes"])


def states(ceph: Loopback) -> str:
    """Return the states that placement groups are in."""
    return " ".join(one["name"] for one in ceph.ask("pg", "stat")["pg_summary"]["num_pg_by_state"])


def drain(ceph: Loopback, *, check: bool = False, timeout: float = PATIENCE, **options: float) -> dict[str, Any]:
    return ceph.administered("_ceph.drain.drain", check=check, name="storage-2", ceph=CEPH, timeout=timeout, **options)


@pytest.mark.usefixtures("_ratios")
def test_of_a_full_cluster_writes_wait_without_an_error_and_go_on_when_there_is_room(room: Loopback) -> None:
    with written(room, "full") as writer:
        ratios(room, {"nearfull": 0.001, "backfillfull": 0.0011, "full": 0.0012})
        until(lambda: checks(room).get("OSD_FULL") == f"{OSDS} full osd(s)", seconds=PATIENCE)
        assert silent(writer, seconds=5)
        assert writer.process.poll() is None, "it waits, and was told no error"
        (card,) = [one for one in cards(room) if one.startswith("OSD_")]
        assert card.startswith("OSD_FULL: 3 full osd(s)"), card
        assert "osd.0 on storage-1" in card
        assert f"pool {POOL}" in card
        ratios(room, AS_THEY_WERE)


@pytest.mark.usefixtures("_ratios")
def test_a_drain_that_would_make_others_near_full_is_refused_with_their_names(room: Loopback) -> None:
    # OSDs say every few seconds what they have: until each has, the numbers are those of before, deleted images too.
    until(lambda: held(room) < OBJECT_KIB, seconds=PATIENCE)
    room.run('exec python3 -c "$@"', _OBJECTS, POOL, str(OBJECTS), str(OBJECT_KIB * 1024))
    until(lambda: held(room) >= 2 * OBJECT_KIB * OBJECTS and clean(room), seconds=PATIENCE)
    used = [one["kb_used"] / one["kb"] for one in room.ask("osd", "df")["nodes"]]
    ratio = (max(used) + sum(used) / 2) / 2  # more than any has, less than two would
    assert max(used) < ratio < sum(used) / 2, used
    ratios(room, {"nearfull": round(ratio, 6)})
    assert "OSD_NEARFULL" not in checks(room)
    said = drain(room).get("error", "nothing")
    assert re.search(r"would move, and osd\.[02] on storage-[13].* would be near full", said), said
    assert not any(one["crush_weight"] == 0 for one in room.ask("osd", "df")["nodes"])
    ratios(room, AS_THEY_WERE)
    assert len(drain(room, check=True)["changes"]) == 1


@pytest.mark.usefixtures("_ratios")
def test_a_drain_whose_copies_find_no_room_any_more_stands_still_and_goes_on_when_there_is(room: Loopback) -> None:
    # Young groups copy by their log, and ask for no room: these forget how they began.
    log = ("osd_max_pg_log_entries", "osd_min_pg_log_entries", "osd_pg_log_trim_min")
    again = f"config set osd osd_backfill_retry_interval {ASKS_AGAIN}"
    room.run("exec ceph", given="\n".join([*(f"config set osd {one} 2" for one in log), again, "osd set nobackfill"]))
    room.run('exec python3 -c "$@"', _OBJECTS, POOL, "400", "4096")
    until(lambda: clean(room), seconds=PATIENCE)
    drain(room, timeout=0)  # it begins, and is killed
    until(lambda: "backfill" in states(room), seconds=PATIENCE)
    ratios(room, {"nearfull": 0.0001, "backfillfull": 0.0001})
    until(lambda: "OSD_BACKFILLFULL" in checks(room), seconds=PATIENCE)
    room.run("exec ceph osd unset nobackfill")
    until(lambda: "backfill_toofull" in states(room), seconds=PATIENCE)
    assert [one.partition(":")[0] for one in cards(room) if "backfill" in one] == ["OSD_BACKFILLFULL"]
    said = drain(room, retries=2 * ASKS_AGAIN).get("error", "nothing")
    assert "the drain of storage-2 stands still" in said, said
    ratios(room, AS_THEY_WERE)
    assert "error" not in drain(room)
    assert [one["pgs"] for one in room.ask("osd", "df")["nodes"] if one["crush_weight"] == 0] == [0]
