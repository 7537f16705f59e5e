"""A rotation of accounts, killed after any of its steps and run again, ends as one that was not, and refuses nobody."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.configuration import NOVA_SECRET
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import accounts
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.accounts import AccountRotation, Change, Credential
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.base import PHASES, RotationAsked
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.usage import Usage
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import (
    PasswordSource,
    Store,
    fingerprints,
    replaced,
    rotation,
)

ROOT = Path(__file__).resolve().parents[3]
CLOUD = ("nova", "glance")
CA = "pki/ca-key"


class KilledError(BaseException):
    """The run was killed."""


class World:
    """Reality: the server's accounts, what the cluster was deployed with, the pods, the store."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = place / "state"
        self.source = PasswordSource(path=place / "password", ours=True)
        self.left = -1  # effects until the run is killed; negative: never
        self.disabled: set[tuple[str, str]] = set()
        self.single = False  # the server takes one password, and no pod uses it
        self.store().ensure([CA, *(f"{name}/db" for name in CLOUD)])
        self.first = self.store().items()
        self.server = {(name, self.first[f"{name}/db"]) for name in CLOUD}
        self.cluster = fingerprints(self.first)
        self.pods: dict[str, tuple[str, str]] = {}
        values = {name: {"auth": {name: {"username": name, "password": {"$secret": f"{name}/db"}}}} for name in CLOUD}
        self.releases = tuple(SimpleNamespace(name=name, values={"oslo_db": values[name]}) for name in CLOUD)
        self.plan: Any = SimpleNamespace(
            site="test", openstack=SimpleNamespace(namespace="openstack", charts="builtin", releases=self.releases),
            hypervisor=SimpleNamespace(compute=()),
        )  # fmt: skip
        self.rollout()
        monkeypatch.setattr(accounts, "Api", lambda _: None)
        monkeypatch.setattr(accounts, "claim", lambda *_, **__: self.effect(self.claim))
        monkeypatch.setattr(Usage, "now", lambda *_: self.usage())
        save = Store._save  # where a store's change becomes real
        monkeypatch.setattr(Store, "_save", lambda store: self.effect(lambda: save(store)))

    def store(self) -> Store:
        return Store.open(self.directory, self.source)

    def effect(self, work: Callable[[], object]) -> None:
        """Do one thing that outlives the run."""
        if self.left == 0:
            raise KilledError
        self.left -= 1
        work()
        refused = {name: login for name, login in self.pods.items() if login not in self.server}
        assert not refused, "a running pod would be refused"

    def claim(self) -> None:
        """Judge and record the store as the gate does."""
        values = self.store().items()
        now, before = fingerprints(values), replaced(values)
        other = {name for name, known in self.cluster.items() if now[name] != known and before.get(name) != known}
        assert not other, "the gate refuses the store"
        self.cluster |= now

    def rollout(self) -> None:
        for release in self.releases:
            login = self.store().resolve(release.values)["oslo_db"]["auth"][release.name]
            self.pods[release.name] = (login["username"], login["password"])

    def usage(self) -> Any:
        def left(*, old: str, new: str) -> list[str]:
            return [name for name, login in self.pods.items() if login[1] == old != new]

        return SimpleNamespace(left=left)

    def run(self, renames: bool, phases: tuple[str, ...] = PHASES, **more: Any) -> None:
        """Run the playbook: each phase in a process of its own."""
        for phase in phases:
            asked = RotationAsked(
                plan=self.plan,
                site_file="site.yml",
                store=self.store(),
                changes=Changes(check=False),
                timeout=0,
                **more,
            )
            kind = type("Toy", (Toy,), {"renames": renames, "world": self})(asked)
            getattr(kind, phase)(kind.survey())
            if phase == "use":
                self.effect(self.claim)
                for name in self.pods:
                    self.effect(lambda name=name: self.roll(name))  # type: ignore[misc]

    def roll(self, name: str) -> None:
        login = self.store().resolve({"username": name, "password": {"$secret": f"{name}/db"}})
        self.pods[name] = (login["username"], login["password"])


class Toy(AccountRotation):
    name, server, loses, hosts = "toy", "Toy", "all", False
    world: World

    def of_kind(self, name: str) -> bool:
        return name.endswith("/db")

    def accepts(self, login: Credential) -> bool:
        return (login.user, login.password) in self.world.server - self.world.disabled

    def overlaps(self, secret: str) -> bool:  # noqa: ARG002  # all alike
        return not self.world.single

    def admit(self, change: Change) -> None:
        self.world.effect(lambda: self.replace(change) if self.world.single else self.add(change))

    def expel(self, change: Change) -> None:
        drop = (change.old.user, change.old.password)
        self.world.effect(lambda: self.replace(change) if self.world.single else self.world.server.discard(drop))

    def add(self, change: Change) -> None:
        self.world.server.add((change.new.user, change.new.password))

    def replace(self, change: Change) -> None:
        assert (change.old.user, change.old.password) in self.world.server, "the old one sets the new one"
        self.world.server.discard((change.old.user, change.old.password))
        self.add(change)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def ended(world: World, names: tuple[str, ...] = CLOUD) -> None:
    """Assert that ``names`` have a new password, alone, everywhere."""
    values = world.store().items()
    assert not [name for name in values if name.endswith((".next", ".former"))]
    for name in names:
        assert values[f"{name}/db"] != world.first[f"{name}/db"], "nothing was rotated"
        user = values.get(f"{name}/db-user", name)
        assert {login for login in world.server if login[0].startswith(name)} == {(user, values[f"{name}/db"])}
        assert world.pods.get(name) == (None if world.single else (user, values[f"{name}/db"]))
    assert world.cluster == fingerprints(values)


@pytest.mark.parametrize(("renames", "single"), [(False, False), (True, False), (False, True)])
def test_killed_after_any_step_and_run_again_it_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: bool, single: bool
) -> None:
    for steps in range(100):
        with monkeypatch.context() as patched:
            (tmp_path / str(steps)).mkdir()
            world = World(tmp_path / str(steps), patched)
            world.left, world.single = steps, single
            world.pods = {} if single else world.pods
            try:
                world.run(renames)
            except KilledError:
                world.left = -1
                world.run(renames)
                ended(world)
            else:
                ended(world)
                break
    else:
        pytest.fail("it never ends")
    assert steps > 7, "there are fewer steps than there must be"


def test_a_server_of_one_password_has_the_new_one_only_when_the_store_has_it(world: World) -> None:
    world.single, world.pods = True, {}
    world.run(False, phases=("both",))
    assert ("nova", world.first["nova/db"]) in world.server
    world.run(False, phases=("use",))
    assert ("nova", world.store().get("nova/db")) in world.server


def test_a_member_that_started_with_the_old_one_in_between_gets_the_new_one_again(world: World) -> None:
    world.single, world.pods = True, {}
    world.run(False, phases=("both", "use"))
    world.server = {(name, world.first[f"{name}/db"]) for name in CLOUD}
    world.run(False, phases=("drop",))
    ended(world)


def test_an_old_account_that_is_refused_for_a_while_alone_is_deleted_all_the_same(world: World) -> None:
    """Somebody disables a leaked one at once; enabled again after the rotation it would be let in."""
    world.run(True, phases=("both", "use"))
    world.disabled = {(name, world.first[f"{name}/db"]) for name in CLOUD}
    world.run(True, phases=("drop",))
    ended(world)


def test_a_second_rotation_starts_from_the_first(world: World) -> None:
    world.run(True)
    once = world.store().items()
    world.run(True)
    ended(world)
    twice = world.store().items()
    assert all(once[f"{name}/db-user"] != twice[f"{name}/db-user"] for name in CLOUD)


def test_one_service_is_rotated_and_no_other(world: World) -> None:
    world.run(False, only=["nova"])
    ended(world, ("nova",))
    assert world.store().get("glance/db") == world.first["glance/db"]


def test_one_service_is_not_rotated_while_another_ones_rotation_is_open(world: World) -> None:
    """It would end well, and the other's old password stay valid."""
    world.run(False, phases=("both",), only=["nova"])
    for phase in (*PHASES, "remains"):
        with pytest.raises(GroundupError, match=r"rotation of nova is open(.|\n)*\"rotate_only\": \[\"nova\"\]"):
            world.run(False, phases=(phase,), only=["glance"])
    world.run(False, only=["nova", "glance"])
    ended(world, ("nova",))
    world.run(False, only=["glance"])
    ended(world)


def test_a_service_without_an_account_is_refused_with_the_others_names(world: World) -> None:
    with pytest.raises(GroundupError, match=r"horizon: no account to rotate(.|\n)*glance, nova"):
        world.run(False, only=["horizon"])


def test_the_old_is_not_dropped_while_a_pod_has_it(world: World) -> None:
    world.run(False, phases=("both", "use"))
    world.pods["nova"] = ("nova", world.first["nova/db"])
    with pytest.raises(GroundupError, match=r"the old password of nova is still in use \(old-still-used\): nova"):
        world.run(False, phases=("drop",))
    assert world.pods["nova"] in world.server


def test_nothing_begins_with_a_password_that_the_server_refuses(world: World) -> None:
    world.server.discard(("nova", world.first["nova/db"]))
    world.pods.pop("nova")
    with pytest.raises(GroundupError, match="does not accept the store's password of nova"):
        world.run(False)
    assert world.store().items() == world.first


@pytest.mark.parametrize("rolled", [False, True])
def test_hypervisors_follow_a_run_that_goes_on_after_the_swap_before_and_after_the_rollout(
    world: World, monkeypatch: pytest.MonkeyPatch, rolled: bool
) -> None:
    world.run(True, phases=("both",))
    rotation.swap(world.store(), ["nova/db", "glance/db"])
    value = world.store().get("nova/db") if rolled else world.first["nova/db"]
    secret = {
        "metadata": {"name": NOVA_SECRET, "creationTimestamp": ""},
        "data": {"file": base64.b64encode(value.encode()).decode()},
    }
    pod = {"metadata": {"name": "nova-api"}, "spec": {"volumes": [{"secret": {"secretName": NOVA_SECRET}}]}}
    monkeypatch.setattr(Usage, "now", lambda *_: Usage([secret], [pod]))
    world.plan.hypervisor.compute = ("hypervisor-1",)
    asked = RotationAsked(plan=world.plan, site_file="", store=world.store(), changes=Changes(check=True))
    kind = type("Toy", (Toy,), {"renames": True, "hosts": True, "world": world})(asked)
    found = kind.foresee(kind.survey())
    assert found.hypervisors
    assert "nova, pods that restart one by one: Pod/nova-api" in found.lines


def test_a_check_names_the_password_that_the_server_refuses(world: World) -> None:
    world.server.discard(("nova", world.first["nova/db"]))
    asked = RotationAsked(plan=world.plan, site_file="", store=world.store(), changes=Changes(check=True))
    kind = type("Toy", (Toy,), {"renames": False, "world": world})(asked)
    with pytest.raises(GroundupError, match="does not accept the store's password of nova"):
        kind.foresee(kind.survey())
