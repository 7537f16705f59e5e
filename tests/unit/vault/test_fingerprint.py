"""Fingerprints tell stores apart and tell nothing else."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import fingerprints

VALUES = {"pki/ca-key": "key of one site", "keystone/admin": "hunter2", "nova/admin": "hunter2"}


def test_the_same_secrets_have_the_same_fingerprints_and_a_changed_one_another() -> None:
    first, changed = fingerprints(VALUES), fingerprints({**VALUES, "keystone/admin": "hunter3"})
    assert first == fingerprints(dict(reversed(VALUES.items())))
    assert {name for name in first if first[name] != changed[name]} == {"keystone/admin"}


def test_equal_passwords_and_other_sites_have_other_fingerprints() -> None:
    first, other = fingerprints(VALUES), fingerprints({**VALUES, "pki/ca-key": "key of another"})
    assert len(set(first.values())) == len(VALUES), "equal passwords show"
    assert not set(first.values()) & set(other.values()), "somebody without the store could compare guesses"


def test_without_a_key_there_are_none() -> None:
    assert fingerprints({"keystone/admin": "hunter2"}) == {}
