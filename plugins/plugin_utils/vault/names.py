"""Names of secrets: the kind of value of each name, and the names a plan needs.

Only the table ``KINDS`` maps names to kinds; any other name is a password.
"""

from __future__ import annotations

import base64
import re
import secrets
import string
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..errors import GroundupError

if TYPE_CHECKING:
    from ..plan.types import Plan


class SecretsError(GroundupError):
    """A secret cannot be read or generated."""


REFERENCE = "$secret"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)+")

CA_KEY = "pki/ca-key"
FINGERPRINTS_KEY = "pki/fingerprints"  # of a site whose CA was rotated: the digest of the first one's key
ENCRYPTION_KEY = "kubernetes/encryption-key"  # of Secrets at rest
PACKAGES_KEY = "packages/openpgp-key"  # of a site whose seed serves packages
IRONIC = "ironic/groundup"  # password of user groundup in the seed's Ironic
MACHINES_PAGE = "ironic/operator"  # password of user operator of the seed's machines page
NOVA_SSH_KEY = "nova/ssh-key"  # of a site with hypervisors
EDGE_KEY = "edge/key"  # given: of the certificate that the site file names in edge.certificate
USER = "-user"  # after the name of an account's password: the user name that a rotation has given it
EDGE_NEXT = "edge/next-key"  # of a new one, while it takes the old one's place
# Secrets of the infrastructure, independent of releases. Keys of certificates: `pki.users`.
INFRASTRUCTURE = ("keepalived/auth", ENCRYPTION_KEY, CA_KEY)


_KINDS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


def password(length: int = 32) -> str:
    """Return ``length`` letters and digits, a letter first; small letters, capitals and digits, as many rules want.

    YAML never reads such a word as a number, a date or a boolean, URLs and INI files need no escapes, and 32 is the
    longest password that MariaDB accepts for replication.
    """
    while True:
        word = secrets.choice(string.ascii_letters)
        word += "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(length - 1))
        if not any(set(word).isdisjoint(kind) for kind in _KINDS):
            return word


def vrrp_password() -> str:
    """Return 8 letters and digits, the maximum of VRRP version 2 (RFC 2338, 5.3.6)."""
    return password(8)


def aes_key() -> str:
    """Return 32 random bytes in base64: an aescbc, aesgcm or secretbox key of Kubernetes."""
    return base64.b64encode(secrets.token_bytes(32)).decode("ascii")


def fernet_key() -> str:
    """Return a Fernet key: 32 random bytes in URL-safe base64."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii")


def erlang_cookie() -> str:
    """Return an Erlang cookie: upper-case letters, as Erlang generates them."""
    return "".join(secrets.choice(string.ascii_uppercase) for _ in range(32))


def hex_key() -> str:
    """Return 32 random bytes in hexadecimal: kubeadm's certificate key."""
    return secrets.token_hex(32)


def private_key() -> str:
    """Return an ECDSA P-256 private key in PEM: every TLS client and OpenSSH support it, and it signs fast."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    plain = serialization.NoEncryption()  # the store encrypts it
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode("ascii")


def cephx_key() -> str:
    """Return a Ceph key in base64: type 1 (AES), creation time, length, 16 random bytes."""
    return base64.b64encode(struct.pack("<HIIH", 1, int(time.time()), 0, 16) + secrets.token_bytes(16)).decode("ascii")


def openpgp_key() -> str:
    """Return an armored OpenPGP private key without expiry: Ed25519, which Debian's gpgv and sqv both support."""
    import pysequoia

    return str(pysequoia.Tsk.generate("groundup.cloud, packages of the site"))


KINDS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("pki/*-key", private_key),
    ("*/ssh-key", private_key),
    ("*/openpgp-key", openpgp_key),
    ("keepalived/auth", vrrp_password),
    ("ceph/*", cephx_key),
    ("*/encryption-key", aes_key),
    ("*/kek", fernet_key),  # Barbican's simple crypto
    ("*/fernet-key", fernet_key),
    ("*/erlang-cookie", erlang_cookie),
    ("*/erlang_cookie", erlang_cookie),
    ("*/certificate-key", hex_key),
    ("*", password),
)


def generate(name: str) -> str:
    """Return a new value of the kind of ``name``. Raises SecretsError for a malformed name."""
    check_name(name)
    return next(make for pattern, make in KINDS if fnmatchcase(name, pattern))()


def check_name(name: object, *, where: str = "") -> str:
    """Return ``name`` if it is well formed (owner/what, lower case). Raises SecretsError otherwise."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise SecretsError(
        f"{name!r} is not the name of a secret" if isinstance(name, str) else "the name of a secret is not a string",
        where=where or "a secret's name",
        why="names are <owner>/<what> in lower case, so that the store can be read by a human",
        remedy='write for example {"$secret": "keystone/admin"}',
    )


def references(values: Any) -> frozenset[str]:
    """Return every name that ``{"$secret": name}`` in ``values`` refers to. Raises SecretsError."""
    return frozenset(name for _, name in walk(values))


def walk(values: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (key path, name) of every reference in ``values``."""
    if (name := reference(values, path)) is not None:
        yield path, name
    elif isinstance(values, Mapping):
        for key, value in values.items():
            yield from walk(value, f"{path}.{key}" if path else str(key))
    elif isinstance(values, (list, tuple)):
        for index, value in enumerate(values):
            yield from walk(value, f"{path}[{index}]")


def reference(value: Any, path: str) -> str | None:
    """Return the name if ``value`` is a reference, else None. Raises SecretsError if the reference has other keys."""
    if not isinstance(value, Mapping) or REFERENCE not in value:
        return None
    if len(value) != 1:
        raise SecretsError(
            "a reference to a secret has other keys beside it",
            where=path or "the values' top",
            why='{"$secret": name} stands for one string; what else is beside it would be lost',
            remedy="move the other keys one level up",
        )
    return check_name(value[REFERENCE], where=path)


def required(plan: Plan) -> tuple[str, ...]:
    """Return, sorted, every name ``plan`` needs: the releases' references and the infrastructure's own."""
    names: set[str] = set(INFRASTRUCTURE)
    if plan.host.packages == "seed":
        names.add(PACKAGES_KEY)
    if plan.metal:
        names |= {IRONIC, MACHINES_PAGE, *(str(host.bmc["credentials"]) for host in plan.hosts.values() if host.bmc)}
    if plan.hypervisor.compute:
        names.add(NOVA_SSH_KEY)
    if plan.ceph:
        names |= {*plan.ceph.secrets, *(client.secret for client in plan.ceph.clients.values())}
    for release in plan.openstack.releases:
        names |= references(release.values)
    for one in plan.resources:
        names |= references([one.values, one.parts])
    return tuple(sorted(names))
