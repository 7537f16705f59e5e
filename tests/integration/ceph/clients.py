"""Clients on the loopback, with Cinder's key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.groundup.cloud.tests.e2e.writing import Writer, writing

from .loopback import Loopback

POOL = "volumes"
BLOCKS = 20  # of 64 KiB: enough to see that writes go on


def cinder(ceph: Loopback) -> dict[str, Any]:
    """Return how to connect as Cinder, with the rights of the plan."""
    key = ceph.key("client.cinder", {"mon": "profile rbd", "osd": f"profile rbd pool={POOL}"})
    return {"name": "client.cinder", "key": key, "mon_host": ",".join(ceph.monitors), "pool": POOL}


def inside(ceph: Loopback) -> Callable[[str], list[str]]:
    """Return how a program is run there."""
    return lambda program: ceph.command("python3", "-c", program)


@contextmanager
def written(ceph: Loopback, image: str) -> Iterator[Writer]:
    """Write while the block runs; afterwards every block that Ceph called written is there."""
    with writing(inside(ceph), {**cinder(ceph), "image": image}) as writer:
        writer.more(BLOCKS)
        yield writer
        writer.more(BLOCKS)
        writer.end()
    assert writer.lost == 0


def clean(ceph: Loopback) -> bool:
    """Say whether all placement groups have all their copies."""
    states = ceph.ask("pg", "stat")["pg_summary"]["num_pg_by_state"]
    known, made = sum(one["num"] for one in states), ceph.ask("osd", "pool", "ls", "detail")
    # The manager counts a new pool's groups a moment after they are made.
    return known == sum(one["pg_num"] for one in made) and all(one["name"].startswith("active+clean") for one in states)


def checks(ceph: Loopback) -> dict[str, str]:
    """Return what each health check that fails says, by its name."""
    return {name: str(one["summary"]["message"]) for name, one in ceph.ask("health")["checks"].items()}


def cards(ceph: Loopback) -> list[str]:
    """Return the cards that a run would print."""
    found: list[str] = ceph.administered("_ceph.faults.cards")["result"]
    return found
