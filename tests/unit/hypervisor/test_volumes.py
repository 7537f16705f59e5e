"""libvirt's key of volumes: kept once, replaced when it is another, and shown nowhere."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import volumes
from ansible_collections.groundup.cloud.tests.unit.plan.test_ceph import plan

UUID = "457eb676-33da-42ec-9a8c-9293d545c337"
FIRST, SECOND = "QVFB-first==", "QVFB-second=="


class Libvirt:
    """Secrets, as virsh tells of them."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.refuses = False
        self.asked: list[list[str]] = []

    def attempt(self, argv: list[str], *, stdin: str = "", **_: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(argv)
        said, code = "", 0
        match argv[3:]:
            case ["secret-define", "/dev/stdin"]:
                assert f"<uuid>{UUID}</uuid>" in stdin
                assert "ephemeral='no'" in stdin, "or it is gone with libvirt's next start"
                self.secrets[UUID] = ""
            case ["secret-set-value", uuid, "--file", "/dev/stdin"]:
                code = int(self.refuses)
                self.secrets[uuid] = stdin
            case ["secret-dumpxml", uuid]:
                code = int(uuid not in self.secrets)
            case ["secret-get-value", uuid]:
                said = self.secrets[uuid] + "\n\n"
        return subprocess.CompletedProcess(argv, code, said, "refused" if code else "")

    def run(self, argv: list[str], *, stdin: str, **_: object) -> str:
        return self.attempt(argv, stdin=stdin).stdout


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> Libvirt:
    made = Libvirt()
    monkeypatch.setattr(volumes, "attempt", made.attempt)
    monkeypatch.setattr(volumes, "run", made.run)
    return made


def own(value: str, *, check: bool = False) -> Changes:
    changes = Changes(check=check)
    volumes.own(changes, volumes.Key(uuid=UUID, client="client.cinder", value=value))
    return changes


def test_a_key_is_given_once_and_replaced_when_it_is_another(libvirt: Libvirt) -> None:
    assert own(FIRST).done == ["give libvirt's key of client.cinder"]
    assert own(FIRST).done == []
    assert own(SECOND).done == ["replace libvirt's key of client.cinder"]
    assert libvirt.secrets == {UUID: SECOND}


def test_a_run_that_was_killed_between_secret_and_value_is_made_good(libvirt: Libvirt) -> None:
    libvirt.secrets[UUID] = ""
    assert own(FIRST).done
    assert libvirt.secrets == {UUID: FIRST}


def test_a_prediction_gives_nothing_also_before_libvirt_is_there(
    libvirt: Libvirt, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own(FIRST, check=True).done
    assert libvirt.secrets == {}

    def missing(*_: object, **__: object) -> Any:
        raise GroundupError("virsh cannot be run", where="here", why="", remedy="")

    monkeypatch.setattr(volumes, "attempt", missing)
    assert own(FIRST, check=True).done


def test_the_key_is_in_no_argument_and_in_no_error(libvirt: Libvirt) -> None:
    libvirt.refuses = True
    with pytest.raises(GroundupError, match="refused") as caught:
        own(FIRST)
    assert FIRST not in str(caught.value) + repr(libvirt.asked)
    assert FIRST not in repr(volumes.Key(uuid=UUID, client="c", value=FIRST))


@pytest.mark.parametrize(("services", "client"), [(["keystone", "cinder"], "client.cinder"), (["keystone"], None)])
def test_hypervisors_have_cinders_key_where_there_is_a_cinder(services: list[str], client: str | None) -> None:
    found = plan(openstack={"release": "2026.1", "services": services}).hypervisor.volumes
    assert (found.name if found else None) == client
