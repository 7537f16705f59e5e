"""Keys of hosts: shown with what to copy, taken only as confirmed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.host_keys import HostKey, accepted, record, shown


@pytest.fixture
def key(tmp_path: Path) -> HostKey:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    entry = " ".join((tmp_path / "key.pub").read_text().split()[:2])
    return HostKey.of("10.0.0.1", 2222, entry)


def test_a_fingerprint_is_ssh_keygens(key: HostKey, tmp_path: Path) -> None:
    said = subprocess.run(["ssh-keygen", "-lf", tmp_path / "key"], capture_output=True, text=True, check=True).stdout
    assert key.fingerprint == said.split()[1]


def test_a_recorded_key_is_found_by_ssh(key: HostKey, tmp_path: Path) -> None:
    path = tmp_path / "ssh/known_hosts"
    record(path, key)
    record(path, HostKey(address="10.0.0.2", port=22, type=key.type, key=key.key))
    for name in ("[10.0.0.1]:2222", "10.0.0.2"):
        subprocess.run(["ssh-keygen", "-F", name, "-f", path], check=True, capture_output=True)


def test_what_is_shown_can_be_copied_into_the_site_file(key: HostKey) -> None:
    text = shown({"node-1": key.plain(), "node-2": key.plain()})
    for said in ("node-1", "10.0.0.1", "ssh-ed25519", key.fingerprint):
        assert said in text
    block = text.partition("\naccess:\n")[2].partition("\n\n")[0]
    assert yaml.safe_load(block) == {"host_keys": dict.fromkeys(("node-1", "node-2"), f"{key.type} {key.key}")}
    assert f"-e contact_accept_host_keys={key.fingerprint},{key.fingerprint}" in text


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (["SHA256:a", "SHA256:b="], {"SHA256:a", "SHA256:b"}),
        ("SHA256:a, SHA256:b,", {"SHA256:a", "SHA256:b"}),
        (None, set()),
        (True, set()),  # every key whatever it is: never
        ([], set()),
    ],
)
def test_only_named_fingerprints_are_accepted(given: object, taken: set[str]) -> None:
    assert accepted(given) == taken
