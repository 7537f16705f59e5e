"""Secrets that somebody else made: how an operator gives them, said in one way."""

from __future__ import annotations

from collections.abc import Mapping


def giving(values: Mapping[str, str]) -> str:
    """Return what gives the secrets, by name; each value shows the form of the secret."""
    pairs = ", ".join(f"{name}: {value}" for name, value in values.items())
    return (
        "ansible-playbook -i <site file> groundup.cloud.secrets -e @FILE, and in FILE (ansible-vault encrypts it): "
        f"secrets_given: {{{pairs}}}"
    )
