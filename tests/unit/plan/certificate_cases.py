"""Mistakes in certificates that a site file names, each with the finding it is."""

from __future__ import annotations

import ssl
from typing import Any

from ansible_collections.groundup.cloud.tests.unit.certificates import issue, weak
from cryptography.hazmat.primitives.asymmetric import ed25519

CAS, OWN = "hosts.trusted_cas", "edge.certificate"
NAMES = ("*.lab.test",)
ROOT = issue("root", ca=True)
MIDDLE = issue("middle", ROOT, ca=True)
LEAF = issue("leaf", MIDDLE, names=NAMES)
OTHER = issue("other root", ca=True)
PLAIN = issue("plain root", constrained=False)
BELOW = issue("l", PLAIN, names=NAMES)
# Of a key whose kind nobody knows.
UNKNOWN = ssl.DER_cert_to_PEM_cert(
    issue("odd", ca=True, private=ed25519.Ed25519PrivateKey.generate()).der.replace(b"\x06\x03+ep", b"\x06\x03+e{")
)
LOOSE = issue("loose", ca=True, strict=False)


def served(*chain: str, cas: str = ROOT.pem) -> dict[str, Any]:
    """Return the changes of a site with ``chain`` as its certificate."""
    files = {"tls/public.pem": "".join(chain), "tls/root.pem": cas}
    return {"edge/certificate": "tls/public.pem", "hosts/trusted_cas": ["tls/root.pem"], "files": files}


def trusted(*files: str | None) -> dict[str, Any]:
    """Return the changes of a site with a CA in each of ``files``; None: a file that is not there."""
    names = [f"{number}.pem" for number, _ in enumerate(files)]
    there = {name: text for name, text in zip(names, files, strict=True) if text is not None}
    return {"hosts/trusted_cas": names, "files": there}


# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("certificate-file-unreadable", "error", "lab", trusted(None), CAS),
    ("certificate-file-unreadable", "error", "lab", {"edge/certificate": "public.pem"}, OWN),
    ("certificate-file-without-certificate", "error", "lab", trusted(""), CAS),
    ("certificate-file-without-certificate", "error", "lab", trusted(" \n\n"), CAS),
    ("certificate-file-without-certificate", "error", "lab", trusted("no certificate at all"), CAS),
    ("certificate-file-without-certificate", "error", "lab", served(LEAF.key), OWN),
    ("certificate-file-damaged", "error", "lab", trusted(ROOT.pem[:-40]), CAS),
    ("certificate-file-damaged", "error", "lab", trusted(ROOT.pem.replace("A", "=")), CAS),
    ("certificate-file-damaged", "error", "lab", served(LEAF.pem, MIDDLE.pem.replace("M", "!")), OWN),
    ("certificate-file-damaged", "error", "lab", trusted(ROOT.pem + UNKNOWN), CAS),
    ("private-key-in-certificate-file", "error", "lab", trusted(ROOT.pem + ROOT.key), CAS),
    ("private-key-in-certificate-file", "error", "lab", served(LEAF.pem, MIDDLE.pem, LEAF.key), OWN),
    ("private-key-in-certificate-file", "error", "lab", served(LEAF.pem, LEAF.key[:60]), OWN),
    ("ca-is-no-ca", "error", "lab", trusted(LEAF.pem), CAS),
    ("trusted-ca-twice", "warning", "lab", trusted(ROOT.pem, OTHER.pem + ROOT.pem), CAS),
    ("trusted-ca-without-root", "warning", "lab", trusted(MIDDLE.pem), CAS),
    ("certificate-expired", "error", "lab", trusted(issue("old", ca=True, begins=-99, days=-9).pem), CAS),
    ("certificate-not-yet-valid", "error", "lab", trusted(issue("new", ca=True, begins=9).pem), CAS),
    ("certificate-refused-by-python", "error", "lab", trusted(LOOSE.pem), CAS),
    ("certificate-refused-by-python", "error", "lab", served(issue("l", ROOT, names=NAMES, strict=False).pem), OWN),
    ("certificate-refused-by-python", "error", "lab", served(BELOW.pem, PLAIN.pem), OWN),
    ("certificate-refused-by-python", "error", "lab", served(issue("l", LEAF, names=NAMES).pem, LEAF.pem), OWN),
    ("issuer-not-trusted", "error", "lab", served(BELOW.pem, PLAIN.pem), OWN),
    ("certificate-expired", "error", "lab", served(issue("old", ROOT, names=NAMES, begins=-99, days=-9).pem), OWN),
    ("certificate-not-yet-valid", "error", "lab", served(issue("new", ROOT, names=NAMES, begins=9).pem), OWN),
    ("certificate-ends-soon", "warning", "lab", served(issue("l", ROOT, names=NAMES, begins=-99, days=9).pem), OWN),
    ("certificate-lacks-names", "error", "lab", served(issue("*.lab.test", ROOT).pem), OWN),
    ("certificate-lacks-names", "error", "lab", served(issue("l", ROOT, names=["*.test", "lab.test"]).pem), OWN),
    ("certificate-lacks-names", "error", "lab", served(issue("l", ROOT, names=["10.90.0.2"]).pem), OWN),
    ("certificate-for-no-server", "error", "lab", served(issue("l", ROOT, names=NAMES, client=True).pem), OWN),
    ("certificate-is-a-ca", "error", "lab", served(MIDDLE.pem, ROOT.pem), OWN),
    ("chain-out-of-order", "error", "lab", served(MIDDLE.pem, LEAF.pem), OWN),
    (
        "chain-out-of-order",
        "error",
        "lab",
        served(issue("l", below := issue("below", MIDDLE, ca=True), names=NAMES).pem, MIDDLE.pem, below.pem),
        OWN,
    ),
    ("chain-incomplete", "error", "lab", served(LEAF.pem), OWN),
    ("chain-incomplete", "error", "lab", served(LEAF.pem, MIDDLE.pem, cas=OTHER.pem), CAS),
    ("issuer-not-trusted", "error", "lab", served(LEAF.pem, MIDDLE.pem, ROOT.pem, cas=OTHER.pem), CAS),
    ("issuer-not-trusted", "error", "lab", served(issue("self-signed", names=NAMES).pem), OWN),
    (
        "certificate-refused-by-openssl",
        "error",
        "lab",
        served(issue("l", ROOT, names=NAMES, private=weak()).pem),
        OWN,
    ),
    (
        "certificate-not-for-browsers",
        "warning",
        "lab",
        served(issue("l", ROOT, names=NAMES, private=ed25519.Ed25519PrivateKey.generate()).pem),
        OWN,
    ),
    (
        "certificate-without-haproxy",
        "error",
        "lab",
        {**served(LEAF.pem, MIDDLE.pem), "edge/kind": "gateway-api"},
        "edge.kind",
    ),
]
