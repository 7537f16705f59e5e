"""Certificates that the site file names: the operator's own of the public names, and CAs of a company."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from .. import pem
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding
from .authorities import dates, judged

if TYPE_CHECKING:
    from cryptography import x509

CAS, CERTIFICATE = "hosts.trusted_cas", "edge.certificate"
_RSA, _EC = 2048, 224  # bits: OpenSSL refuses smaller ones at its default level of security, 2


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the files of ``hosts.trusted_cas`` and ``edge.certificate``."""
    site = context.site
    if not site.named_files:
        return
    cas: list[x509.Certificate] = []
    for name in dict.fromkeys(site.hosts.trusted_cas):
        found, faults = _read(context, name, CAS)
        yield from faults
        for one in found:
            yield from _trusted(one, name, now=site.now, twice=one in cas)
            cas.append(one)
    yield from _roots(cas)
    if site.edge.certificate:
        found, faults = _read(context, site.edge.certificate, CERTIFICATE)
        yield from faults
        if found:
            yield from _served(context, found, cas)


def _read(context: PlanContext, name: str, key: str) -> tuple[tuple[x509.Certificate, ...], list[Finding]]:
    file = context.site.files.get(name)
    fault = "was not read" if file is None else file.fault
    if fault or file is None:
        return (), [
            error("certificate-file-unreadable", key)(
                what=f"{name} {fault}",
                why="what is in it decides whom hosts and users trust",
                remedy="put the PEM file there, beside the site file, readable for you",
            )
        ]
    found, faults = pem.parse(file.text), []
    if found.private_key:
        faults.append(
            error("private-key-in-certificate-file", key)(
                what=f"{name} holds a private key",
                why="the file is in the plan, which is no secret, and beside a site file that others may read",
                remedy="take the key out, and give it as a secret: edge/key (docs/dns-and-certificates.md)",
            )
        )
    if found.damaged:
        faults.append(
            error("certificate-file-damaged", key)(
                what=f"a certificate in {name} does not parse, has a key of an unknown kind, or no end",
                why="a program that reads the file would refuse it, or leave that certificate out in silence",
                remedy=f"write the file again; `openssl x509 -in {name} -noout -text` shows whether the first is sound",
            )
        )
    if not found.certificates and not found.damaged:
        what = (
            f"holds {', '.join(found.others)}" if found.others else "is empty" if not file.text.strip() else "is no PEM"
        )
        faults.append(
            error("certificate-file-without-certificate", key)(
                what=f"{name} {what}: no certificate",
                why="a PEM file has blocks of -----BEGIN CERTIFICATE-----",
                remedy="write it in PEM; from DER: openssl x509 -inform DER -in FILE -out NAME.pem",
            )
        )
    return found.certificates, faults


def _trusted(one: x509.Certificate, file: str, *, now: datetime | None, twice: bool) -> Iterator[Finding]:
    name = f"{pem.name_of(one)} in {file}"
    if twice:
        yield warning("trusted-ca-twice", CAS)(
            what=f"{name} is in the list more than once",
            why="who takes it out of one place wonders why it is still trusted",
            remedy="keep it in one file",
        )
        return
    yield from judged(one, name, CAS, now=now)
    if pem.may_sign(one):
        yield from _strict(one, name, CAS, ca=True)


def _roots(cas: list[x509.Certificate]) -> Iterator[Finding]:
    above = [one for one in cas if not pem.is_root(one)]
    if not above:
        return
    roots = [*filter(pem.is_root, cas), *pem.public_roots()]
    for one in above:
        if pem.follow([one, *cas], roots).root is None and pem.is_ca(one):
            yield warning("trusted-ca-without-root", CAS)(
                what=f"{pem.name_of(one)} is signed by {one.issuer.rfc4514_string()}, which is not in the list",
                why="OpenSSL, and Python of Debian 12, trust a chain only when they have its root",
                remedy="write the certificate of the root, too",
            )


def _served(
    context: PlanContext, found: tuple[x509.Certificate, ...], cas: list[x509.Certificate]
) -> Iterator[Finding]:
    edge, now, file = context.plan.edge, context.site.now, context.site.edge.certificate
    if edge.kind != "haproxy":
        yield error("certificate-without-haproxy", CERTIFICATE, "edge.kind")(
            what=f"the public names are served by edge.kind {edge.kind}",
            why="only HAProxy on the control hosts is given the certificate",
            remedy="leave edge.certificate out, or write edge.kind: haproxy",
        )
    leaf = found[0]
    if pem.is_ca(leaf):
        other = next((one for one in found if not pem.is_ca(one)), None)
        name = "chain-out-of-order" if other else "certificate-is-a-ca"
        yield error(name, CERTIFICATE)(
            what=f"the first certificate of {file} is a CA's: {pem.name_of(leaf)}",
            why="a server shows its own certificate first, and clients refuse a CA's as a server's",
            remedy=f"write {pem.name_of(other)} first" if other else "write the server's own certificate first",
        )
        if not other:
            return
        leaf = other
        found = (leaf, *(one for one in found if one is not leaf))
    yield from _leaf(leaf, [one.name for one in edge.endpoints], now=now)
    chain = pem.follow(found, [*filter(pem.is_root, cas), *pem.public_roots()])
    if not chain.ordered:
        yield error("chain-out-of-order", CERTIFICATE)(
            what=f"a certificate of {file} is not followed by the one that signed it",
            why="some clients read a chain in order only (RFC 5246, 7.4.2)",
            remedy=f"write them in this order: {'; '.join(map(pem.name_of, chain.path))}",
        )
    if chain.root is None:
        yield _untrusted(chain.path[-1], str(file))
    for one in chain.path[1:]:
        yield from dates(one, f"{pem.name_of(one)} in {file}", CERTIFICATE, now=now, ca=True)
        yield from _strict(one, f"{pem.name_of(one)} in {file}", CERTIFICATE, ca=True)
    for one in chain.path:
        if not pem.is_root(one):
            yield from _strength(one)


def _untrusted(last: x509.Certificate, file: str) -> Finding:
    issuer = last.issuer.rfc4514_string()
    if pem.is_root(last):
        return error("issuer-not-trusted", CERTIFICATE, CAS)(
            what=f"the chain of {file} ends with {issuer}, which is neither a public CA nor in {CAS}",
            why="hypervisors and the control node ask the public names: they would refuse them",
            remedy=f"write its certificate into a PEM file, and the file into {CAS}",
        )
    return error("chain-incomplete", CERTIFICATE, CAS)(
        what=f"the chain of {file} ends with {pem.name_of(last)}, signed by {issuer}, which is not there",
        why=f"clients get no certificate of {issuer} from HAProxy, and it is neither a public CA nor in {CAS}",
        remedy=f"add it to {file} if it is an intermediate (`fullchain.pem`), or to {CAS} if it is the root",
    )


def _leaf(leaf: x509.Certificate, names: list[str], *, now: datetime | None) -> Iterator[Finding]:
    from cryptography import x509

    name = pem.name_of(leaf)
    yield from dates(leaf, name, CERTIFICATE, now=now, ca=False)
    yield from _strict(leaf, name, CERTIFICATE, ca=False)
    if missing := [one for one in names if not pem.covers(leaf, one)]:
        has = ", ".join(one for kind in pem.names(leaf) for one in kind) or "no name (subjectAltName)"
        yield error("certificate-lacks-names", CERTIFICATE)(
            what=f"it is not for {', '.join(missing)}: it has {has}",
            why="clients refuse a certificate for other names; a wildcard stands for one label alone",
            remedy="have one issued for every public name of the site, or for the wildcard of its domain",
        )
    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    either = {x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if not either & set(usage):
        yield error("certificate-for-no-server", CERTIFICATE)(
            what=f"{name} is not for servers: its extended key usage lacks serverAuth",
            why="clients refuse it",
            remedy="have one issued for TLS servers",
        )


def _strength(one: x509.Certificate) -> Iterator[Finding]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

    key, refused = one.public_key(), ""
    if isinstance(key, rsa.RSAPublicKey):
        refused = f"an RSA key of {key.key_size} bits" if key.key_size < _RSA else ""
    elif isinstance(key, ec.EllipticCurvePublicKey):
        refused = f"a key on the curve {key.curve.name}" if key.key_size < _EC else ""
    elif isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        yield warning("certificate-not-for-browsers", CERTIFICATE)(
            what=f"{pem.name_of(one)} has an EdDSA key",
            why="browsers do not open TLS connections with it",
            remedy="use ECDSA (P-256) or RSA (2048 bits or more)",
        )
    else:
        refused = "a key that is neither RSA nor of an elliptic curve"
    try:
        if isinstance(one.signature_hash_algorithm, hashes.MD5 | hashes.SHA1):
            refused = refused or f"a signature with {one.signature_hash_algorithm.name.upper()}"
    except UnsupportedAlgorithm:
        refused = refused or "a signature of an unknown kind"
    if refused:
        yield error("certificate-refused-by-openssl", CERTIFICATE)(
            what=f"{pem.name_of(one)} has {refused}",
            why="OpenSSL of Debian 12 and 13 refuses it, in HAProxy and in clients",
            remedy="have a new one issued with ECDSA (P-256) or RSA (2048 bits or more), and SHA-256",
        )


def _strict(one: x509.Certificate, name: str, key: str, *, ca: bool) -> Iterator[Finding]:
    """Yield what Python 3.13, of Debian 13, refuses by its flag VERIFY_X509_STRICT (RFC 5280, 4.2.1)."""
    from cryptography import x509

    def has(kind: type[x509.ExtensionType]) -> bool:
        return any(isinstance(extension.value, kind) for extension in one.extensions)

    lacks = []
    if ca:
        critical = pem.is_ca(one) and one.extensions.get_extension_for_class(x509.BasicConstraints).critical
        lacks += [] if critical else ["critical basic constraints with CA:TRUE"]
        lacks += [] if has(x509.KeyUsage) else ["a key usage"]
        lacks += [] if has(x509.SubjectKeyIdentifier) else ["a subject key identifier"]
    if not pem.is_root(one) and not has(x509.AuthorityKeyIdentifier):
        lacks.append("an authority key identifier")
    if lacks:
        yield error("certificate-refused-by-python", key)(
            what=f"{name} lacks {', '.join(lacks)}",
            why="programs in Python 3.13, of Debian 13, refuse it, such as nova-compute and the control node's own",
            remedy="have it issued again with "
            + ("basicConstraints=critical,CA:TRUE, keyUsage=critical,keyCertSign,cRLSign and both key identifiers"
               if ca else "an authority key identifier"),
        )  # fmt: skip
