"""Hiding and finding values, in each form in which they turn up."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pysequoia
import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Redactor
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import openpgp_key
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.redact import forms
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

PASSWORD = "kX9bTq2LmZ7pVw4sYc1nRd8fHg3jAe5u"
_LINES = (
    "-----BEGIN PRIVATE KEY-----",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49",
    "AwEHBG0wawIBAQQgu1Yc0pBGkXyTw8mP",
    "-----END PRIVATE KEY-----",
)
KEY = "".join(f"{line}\n" for line in _LINES)


def find_values(secrets: dict[str, str], text: str) -> tuple[str, ...]:
    """Return the names of the secrets that ``text`` gives away in any form."""
    return tuple(name for name, value in secrets.items() if any(form in text for form in forms(value)))


@pytest.mark.parametrize(
    "text",
    [
        PASSWORD,
        f"mysql://root:{PASSWORD}@mariadb",
        base64.b64encode(PASSWORD.encode()).decode(),
        base64.b64encode(f"[database]\nconnection = mysql://x:{PASSWORD}@y\n".encode()).decode(),
        base64.b64encode(f"a{PASSWORD}".encode()).decode(),
        base64.b64encode(f"ab{PASSWORD}c".encode()).decode(),
    ],
)
def test_a_password_is_found_and_hidden_wherever_it_stands(text: str) -> None:
    assert find_values({"a/b": PASSWORD, "c/d": "somethingelse"}, text) == ("a/b",)
    hidden = Redactor({"a/b": PASSWORD}).text(f"before {text} after")
    assert find_values({"a/b": PASSWORD}, hidden) == ()
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")


@pytest.mark.parametrize(
    "text", [KEY, json.dumps(KEY), quote(KEY), KEY.splitlines()[1], base64.b64encode(KEY.encode()).decode()]
)
def test_a_private_key_is_found_and_hidden_also_by_one_of_its_lines(text: str) -> None:
    assert find_values({"pki/ca-key": KEY}, text) == ("pki/ca-key",)
    assert find_values({"pki/ca-key": KEY}, Redactor({"pki/ca-key": KEY}).text(text)) == ()


def test_what_an_openpgp_key_shares_with_its_public_part_gives_nothing_away() -> None:
    key = openpgp_key()
    public = str(pysequoia.Tsk.from_bytes(key.encode()).extract_certificate())
    assert "Comment: " in public
    assert find_values({"k": key}, public) == ()
    assert all(find_values({"k": key}, line) for line in key.splitlines()[4:-3])


def test_what_is_hidden_is_named_also_deep_inside_a_value() -> None:
    value = {"a": [f"x {PASSWORD}", 1, None], PASSWORD: "key"}
    assert Redactor({"a/b": PASSWORD}).value(value) == {"a": ["x [secret a/b]", 1, None], "[secret a/b]": "key"}


def test_other_text_is_left_alone() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nnothing of ours\n"
    assert Redactor({"a/b": PASSWORD, "pki/ca-key": KEY, "short/one": "abc"}).text(text) == text
    assert Redactor({}).text(text) == text
    assert find_values({"a/b": PASSWORD}, text) == ()


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert PASSWORD not in repr(Redactor({"a/b": PASSWORD}))


@given(st.text("abcXYZ019", min_size=8, max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_no_neighbours_hide_a_value_from_being_found_in_base64(value: str, before: bytes, after: bytes) -> None:
    text = base64.b64encode(before + value.encode() + after).decode()
    assert find_values({"a/b": value}, text) == ("a/b",)


def test_what_a_key_shares_with_its_certificate_is_no_secret_and_every_other_line_is() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    *private, public = pem.splitlines()[1:-1]
    assert public not in forms(pem), "the end of the point, which a certificate may show at the same alignment"
    assert set(private) <= forms(pem)
