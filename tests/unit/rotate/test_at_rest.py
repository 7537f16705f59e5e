"""The key of Secrets at rest: at no moment of a rotation, killed anywhere, does one write what another cannot read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import at_rest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.at_rest import CLEAR, HostKeys, SecretsKeys
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store, rotation
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import ENCRYPTION_KEY

HOSTS = ("control-1", "control-2", "control-3")


@dataclass
class Cluster:
    """Three API servers with their keys, and Secrets with the key that has written each."""

    store: Store
    hosts: dict[str, tuple[str, ...]]
    written: list[str] = field(default_factory=lambda: ["site-1", "site-1"])

    @property
    def seen(self) -> dict[str, HostKeys]:
        return {name: HostKeys(order=order) for name, order in self.hosts.items()}

    @property
    def keys(self) -> SecretsKeys:
        return SecretsKeys.of(self.store)

    def readable(self) -> None:
        """Assert that every host reads what any host writes or has written."""
        writers = {order[0] for order in self.hosts.values()} | set(self.written)
        assert all(writers <= {*order, CLEAR} for order in self.hosts.values()), (self.hosts, self.written)
        self.written += [order[0] for order in self.hosts.values()]  # and they do write meanwhile

    def turn(self, wanted: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
        """Change one host after another."""
        for name in at_rest.behind(wanted, self.seen):
            self.hosts[name] = wanted[name]
            yield

    def done(self) -> bool:
        wanted = at_rest.alone(self.keys, self.seen)
        used = set(self.written) - {self.keys.target}
        return not (self.keys.open or at_rest.behind(wanted, self.seen) or used)

    def run(self, *, begins: bool) -> Iterator[None]:
        """Do what the playbook does, yielding after every step that a kill may follow."""
        if begins and self.done():
            at_rest.begin(self.store)
            yield
        yield from self.turn(at_rest.read_by_all(self.keys, self.seen))
        assert not at_rest.behind(at_rest.read_by_all(self.keys, self.seen), self.seen)
        if self.keys.following:
            rotation.swap(self.store, [ENCRYPTION_KEY])
            yield
        yield from self.turn(at_rest.written_by_all(self.keys, self.seen))
        if not self.done():
            for number, _ in enumerate(self.written):
                self.written[number] = self.keys.target
            yield
            rotation.end(self.store, ENCRYPTION_KEY)
            yield
        yield from self.turn(at_rest.alone(self.keys, self.seen))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True), write=False)
    found.ensure([ENCRYPTION_KEY])
    return found


def carry_on(cluster: Cluster, *, kill: int) -> int:
    """Run until the ``kill``-th step, then again to the end; return how many steps the first run did."""
    first = 0
    for _ in itertools.islice(cluster.run(begins=True), kill):
        first += 1
        cluster.readable()
    for _ in cluster.run(begins=False):
        cluster.readable()
    return first


@pytest.mark.parametrize("kill", range(1, 14))
def test_a_rotation_killed_after_any_step_ends_with_the_new_key_alone(store: Store, kill: int) -> None:
    cluster = Cluster(store, dict.fromkeys(HOSTS, ("site-1", CLEAR)))
    old = store.get(ENCRYPTION_KEY)
    carry_on(cluster, kill=kill)
    new = cluster.keys.target
    assert new != "site-1"
    assert store.get(ENCRYPTION_KEY) != old
    assert set(cluster.hosts.values()) == {(new, CLEAR)}
    assert set(cluster.written) == {new}
    assert not cluster.keys.open


@pytest.mark.parametrize("kill", range(9))
def test_encryption_that_is_turned_on_later_takes_no_secret_from_any_host(store: Store, kill: int) -> None:
    cluster = Cluster(store, dict.fromkeys(HOSTS, (CLEAR,)), written=[CLEAR, CLEAR])
    carry_on(cluster, kill=kill)
    assert set(cluster.hosts.values()) == {("site-1", CLEAR)}
    assert set(cluster.written) == {"site-1"}


def test_a_second_rotation_has_another_name_for_its_key(store: Store) -> None:
    cluster = Cluster(store, dict.fromkeys(HOSTS, ("site-1", CLEAR)))
    names = []
    for _ in range(2):
        carry_on(cluster, kill=99)
        names.append(cluster.keys.target)
    assert len({"site-1", *names}) == 3


@pytest.mark.parametrize("kill", range(14))
def test_a_control_host_that_joins_meanwhile_reads_and_is_read(store: Store, kill: int) -> None:
    cluster = Cluster(store, dict.fromkeys(HOSTS, ("site-1", CLEAR)))
    for _ in itertools.islice(cluster.run(begins=True), kill):
        cluster.readable()
    cluster.hosts["control-4"] = (*cluster.keys.order(), CLEAR)
    cluster.readable()
    for _ in cluster.run(begins=False):
        cluster.readable()
    assert len(set(cluster.hosts.values())) == 1
