"""Public ssh keys of the site file are keys, whole ones: sshd leaves out what is none, and nobody can log in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import parse_site
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Private = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PRIVATE: dict[str, Callable[[], Private]] = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "rsa": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ecdsa": lambda: ec.generate_private_key(ec.SECP384R1()),
}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIl4ihn7CPPqL8ikWg4Zjy7gMq376PVX8z7nSORWMyX9"
HARDWARE = (  # of a security key, as ssh-keygen -t ed25519-sk writes it
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCww"
    "NDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDo= me"
)


def login(line: str) -> str:
    """Return a site file with ``line`` as a key of somebody who logs in."""
    return f"{LAB}access:\n  authorized_keys:\n    - '{line}'\n"


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_key_of_each_kind_is_taken_for_a_host_and_for_people(kind: str) -> None:
    key = PRIVATE[kind]().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    site = parse_site(f"{login(key)}  host_keys: {{control-1: {key}}}\n".encode())
    assert site.access.authorized_keys == [key]
    assert site.access.host_keys == {"control-1": key}


@pytest.mark.parametrize(
    "line",
    [
        f"{KEY} anna@example.org, the laptop",
        f'from="10.0.0.0/8,192.0.2.7",restrict {KEY}',
        f'no-pty,command="echo \\"ssh-rsa AAAA\\"" {KEY} x',
        HARDWARE,
    ],
)
def test_a_key_may_have_options_and_a_comment(line: str) -> None:
    assert parse_site(login(line).encode()).access.authorized_keys == [line]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x", "not a public ssh key"),
        ("~/.ssh/id_ed25519.pub", "not a public ssh key"),
        (KEY.partition(" ")[2], "not a public ssh key"),
        (f"ssh-dss {KEY.partition(' ')[2]}", "not a public ssh key"),
        (f"restrict; {KEY}", "not a public ssh key"),
        (KEY[:-1], "not a whole ssh key"),
        (KEY[:-4], "not a whole ssh key"),
        (f"{KEY[:-4]}AAAAAAAA", "not a whole ssh key"),
        ("ssh-ed25519 AAAA", "not a whole ssh key"),
        (f"ssh-rsa {KEY.partition(' ')[2]}", "not a whole ssh key"),
    ],
)
def test_what_is_no_key_is_refused(line: str, reason: str) -> None:
    (problem,) = refused(login(line)).problems
    assert problem.key == "access.authorized_keys.0"
    assert reason in problem.reason


@pytest.mark.parametrize("key", ["AAAA", "ssh-ed25519 AAAA", f"{KEY} root@control-1", KEY[:-2]])
def test_a_host_s_key_is_its_type_and_its_whole_text(key: str) -> None:
    (problem,) = refused(f"{LAB}access: {{host_keys: {{control-1: '{key}'}}}}\n").problems
    assert problem.key == "access.host_keys.control-1"


def test_units_are_read_as_systemctl_reads_them_and_time_may_come_from_the_own_link() -> None:
    """A unit without a suffix is a service; 169.254.169.123 tells the time to machines of a public cloud."""
    written = "hosts: {disabled_units: [bluetooth, apt-daily.timer, 'getty@tty1'], ntp_servers: [169.254.169.123]}\n"
    hosts = parse_site((LAB + written).encode()).hosts
    assert hosts.disabled_units == ["bluetooth.service", "apt-daily.timer", "getty@tty1.service"]
    assert hosts.ntp_servers == ["169.254.169.123"]
