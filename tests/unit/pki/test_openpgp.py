"""The key that signs package lists: made once, and its signatures are what Debian's own programs take."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import PkiError, ensure_packages_key
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki.openpgp import FILE, sign_release, signed_release
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

RELEASE = "Suite: trixie\nSHA256:\n 00 1 main/binary-amd64/Packages\n"


def store_in(directory: Path) -> Store:
    return Store.open(directory, PasswordSource(path=directory / "password", ours=True))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def test_a_list_is_signed_once_and_again_when_it_or_the_key_is_another(tmp_path: Path, store: Store) -> None:
    assert signed_release(tmp_path, "InRelease", RELEASE) is None
    signed = sign_release(store, tmp_path, "InRelease", RELEASE)
    assert signed_release(tmp_path, "InRelease", RELEASE) == signed
    assert signed_release(tmp_path, "InRelease", f"Origin: x\n{RELEASE}") is None
    (tmp_path / "InRelease").write_text(signed.replace("Suite: trixie", "Suite: forged"))
    assert signed_release(tmp_path, "InRelease", RELEASE.replace("trixie", "forged")) is None


def test_debians_own_program_takes_the_signature(tmp_path: Path, store: Store) -> None:
    (tmp_path / "signed").write_text(sign_release(store, tmp_path, "InRelease", RELEASE))
    key = tmp_path / "key.gpg"
    subprocess.run(["gpg", "--homedir", tmp_path, "--dearmor", "-o", key, tmp_path / FILE], check=True)
    subprocess.run(["gpgv", "--keyring", key, tmp_path / "signed"], check=True)


def test_another_key_than_the_hosts_have_is_an_error(tmp_path: Path, store: Store) -> None:
    assert ensure_packages_key(store, tmp_path) == "new"
    assert ensure_packages_key(store_in(tmp_path), tmp_path) == ""
    before = (tmp_path / FILE).read_text()
    with pytest.raises(PkiError, match="not the one in the secrets store"):
        ensure_packages_key(store_in(tmp_path / "other"), tmp_path)
    assert (tmp_path / FILE).read_text() == before
