"""A monitor whose clock is wrong, and a lost quorum: the card, clients that go on, and the way back.

A library of a few lines gives one process another time: Debian's libfaketime ends ceph-mon at its start (tcmalloc).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.ceph.host import PLAN

from .clients import BLOCKS, POOL, cards, checks, clean, written
from .loopback import PATIENCE, Loopback

pytestmark = pytest.mark.long  # they wait for Ceph's own limits

MONITORS = 3
SHIM = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  int said = syscall(SYS_clock_gettime, clock, now);
  const char *by = getenv("SKEW");
  if (by && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += atoi(by);
  return said;
}
"""
PLACE = "/srv/skew.so"  # in it
WRONG = "m2"  # not the first: that one leads


@pytest.fixture(scope="module")
def clocks(ceph: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Loopback:
    """A whole cluster with a pool, and the library in it."""
    if not (compiler := shutil.which("cc")):
        pytest.skip("a C compiler is needed")
    made = tmp_path_factory.mktemp("skew") / "skew.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", made], input=SHIM, text=True, check=True)
    ceph.put(PLACE, made.read_bytes())
    ceph.run('ceph osd pool create "$1" 8; ceph osd pool application enable "$1" rbd', POOL)
    until(lambda: clean(ceph), seconds=PATIENCE)
    return ceph


def restart(ceph: Loopback, **environment: str) -> None:
    """Start a monitor again, and wait until it is in the quorum."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    runs = 'runs() { pgrep -f "^ceph-mon -i $1"; }; '
    stop = runs + "kill $(runs $1); while runs $1 > /dev/null; do sleep 0.1; done; shift; "
    ceph.run(stop + 'exec env "$@"', WRONG, *variables, "ceph-mon", "-i", WRONG)
    until(lambda: WRONG in ceph.ask("quorum_status")["quorum_names"], seconds=PATIENCE)


@contextmanager
def skewed(ceph: Loopback, by: str) -> Iterator[None]:
    """Have a monitor's clock be wrong while the block runs."""
    restart(ceph, LD_PRELOAD=PLACE, SKEW=by)
    try:
        yield
    finally:
        restart(ceph)


@pytest.mark.parametrize("by", ["+1", "-1"])
def test_a_clock_that_is_wrong_has_a_card_and_costs_no_block(clocks: Loopback, by: str) -> None:
    with written(clocks, f"clock{by}") as writer:
        with skewed(clocks, by):
            until(lambda: "MON_CLOCK_SKEW" in checks(clocks), seconds=PATIENCE)
            (card,) = [one for one in cards(clocks) if "MON_CLOCK_SKEW" in one]
            assert f"mon.{WRONG}" in card, card
            assert "chronyc makestep" in card
            writer.more(BLOCKS)
        until(lambda: "MON_CLOCK_SKEW" not in checks(clocks), seconds=PATIENCE)
        writer.more(BLOCKS)


def test_a_quorum_that_is_lost_in_this_moment_has_its_card_too(clocks: Loopback) -> None:
    gone = ("m1", "m3")
    kill = 'for name; do pids="$pids $(pgrep -f "^ceph-mon -i $name")"; done; kill -KILL $pids'
    clocks.run(f"pids=; {kill}", *gone)  # the third does not know of it yet, and lets clients in
    try:
        said = clocks.administered("_ceph.drain.drain", name="x", ceph=PLAN, timeout=5)["error"]
        assert "no quorum of monitors for client.admin: 1 of 3 answer, 2 are needed" in said, said
        assert "m1 (127.0.0.1) does not, m2 (127.0.0.2) answers, m3 (127.0.0.3) does not" in said
    finally:
        for name in gone:
            clocks.run('exec ceph-mon -i "$1"', name)
    until(lambda: len(clocks.ask("quorum_status")["quorum_names"]) == MONITORS, seconds=PATIENCE)
