"""A CA is replaced in three phases, killed anywhere: every reader verifies every leaf that may be served meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import Use, file
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    LeafSpec,
    ensure_authority,
    ensure_leaf,
    succession,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki.authority import issued_by
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store, fingerprints, replaced
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.rotation import passing
from cryptography import x509

USES: tuple[Use, ...] = ("site", "ovn")  # all are alike, and each costs the store's key derivation
SPECS = [LeafSpec(user=f"of-{use}", names=("a.lab.test",), authority=use) for use in USES]


def opened(directory: Path) -> Store:
    return Store.open(directory, PasswordSource(path=directory / "password", ours=True))


def settle(directory: Path) -> None:
    """Do what every run does: write authorities and leaves."""
    store = opened(directory)
    signing = {use: ensure_authority(store, directory, site="lab", use=use) for use in USES}
    for spec in SPECS:
        ensure_leaf(signing[spec.authority], store, directory, spec)


def bundles(directory: Path) -> dict[str, list[x509.Certificate]]:
    return {use: x509.load_pem_x509_certificates((directory / file(use)).read_bytes()) for use in USES}


def leaves(directory: Path) -> dict[str, x509.Certificate]:
    return {use: x509.load_pem_x509_certificate((directory / f"pki/of-{use}.crt").read_bytes()) for use in USES}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(succession, "USES", USES)
    settle(tmp_path)
    return tmp_path


def where(directory: Path) -> str:
    return succession.position(succession.look(opened(directory), directory))


def test_the_three_phases_replace_every_authority_and_what_it_issued(site: Path) -> None:
    first = bundles(site)
    assert where(site) == "closed"
    succession.begin(opened(site))
    settle(site)
    assert where(site) == "both"
    assert {use: found[0] for use, found in bundles(site).items()} == {use: found[0] for use, found in first.items()}
    assert all(len(found) == 2 and found[0].subject != found[1].subject for found in bundles(site).values())
    assert all(issued_by(leaf, first[use][0]) for use, leaf in leaves(site).items())
    both = bundles(site)
    succession.switch(opened(site))
    settle(site)
    assert where(site) == "new"
    assert all(found == list(reversed(both[use])) for use, found in bundles(site).items())
    assert all(issued_by(leaf, both[use][1]) for use, leaf in leaves(site).items())
    succession.drop(opened(site), site)
    settle(site)
    assert where(site) == "closed"
    assert all(found == [both[use][1]] for use, found in bundles(site).items())
    assert not [name for name in opened(site).names() if passing(name)]
    before = (site / "ca.crt").read_bytes()
    settle(site)
    assert (site / "ca.crt").read_bytes() == before


class KilledError(Exception):
    """The run ends here."""


def write_until(monkeypatch: pytest.MonkeyPatch, kill: int) -> None:
    """Let ``kill`` writes of files succeed, then end the run at the next one."""
    from ansible_collections.groundup.cloud.plugins.module_utils._base import files
    from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import authority, leaf
    from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import store

    left = [kill]

    def write(*arguments: object, **more: object) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        files.write_file(*arguments, **more)  # type: ignore[arg-type]

    for module in (authority, leaf, store, succession):
        monkeypatch.setattr(module, "write_file", write)


def steps(directory: Path) -> list[Callable[[], None]]:
    return [
        lambda: succession.begin(opened(directory)), lambda: settle(directory),
        lambda: succession.switch(opened(directory)), lambda: settle(directory),
        lambda: succession.drop(opened(directory), directory), lambda: settle(directory),
    ]  # fmt: skip


@pytest.mark.parametrize("kill", range(0, 16))
def test_a_rotation_killed_at_any_write_goes_on_to_the_same_end(
    site: Path, kill: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    with monkeypatch.context() as patched:
        write_until(patched, kill)
        try:
            for number, step in enumerate(steps(site)):
                step()
                done.append(number)
        except KilledError:
            pass
    settle(site)  # any run in between changes nothing of the position's meaning
    trusted = bundles(site)
    assert all(any(issued_by(leaf, one) for one in trusted[use]) for use, leaf in leaves(site).items())
    begun = where(site)
    for number, step in enumerate(steps(site)):
        first = {"closed": 0 if len(done) < 4 else 6, "both": 2, "new": 4}[begun]
        if number >= first:
            step()
    assert where(site) == "closed"
    assert all(len(found) == 1 for found in bundles(site).values())
    assert all(issued_by(leaf, bundles(site)[use][0]) for use, leaf in leaves(site).items())
    assert not [name for name in opened(site).names() if passing(name)]


def test_fingerprints_of_other_secrets_are_the_same_after_a_rotation(site: Path) -> None:
    store = opened(site)
    store.ensure(["keystone/admin"])
    before = fingerprints(store.items())
    for step in steps(site):
        step()
    after = fingerprints(opened(site).items())
    assert after["keystone/admin"] == before["keystone/admin"]
    assert after["pki/ca-key"] != before["pki/ca-key"]


def test_the_fingerprint_of_the_key_that_leaves_is_known_until_it_is_dropped(site: Path) -> None:
    before = fingerprints(opened(site).items())
    assert replaced(opened(site).items()) == {}
    for step in steps(site)[:4]:
        step()
    assert replaced(opened(site).items())["pki/ca-key"] == before["pki/ca-key"]
