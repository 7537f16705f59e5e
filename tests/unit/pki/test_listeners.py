"""Each certificate of a site against each listener that a certificate opens, as the code writes them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import libvirt
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import pki as placed
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import configuration, converge, databases
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import USES, file
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import ensure_authority, ensure_leaf, users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.certificates import _data
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.certificates import certificates
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store
from cryptography import x509
from cryptography.exceptions import InvalidSignature

SITE = Path(__file__).parents[3] / "inventories" / "cloud" / "site.yml"
FORMER = "hypervisor-9"  # retired: its certificate is valid, its name has left the site file
HYPERVISORS = {"hypervisor-1", "hypervisor-2"}
MEMBERS = {"ovn-control-1", "neutron-ovn"}
# Who gets in where, of all certificates of the site. A server of OVN has one set of authorities for all its ports;
# on the southbound's full ports addresses decide beside them.
EXPECTED = {
    "libvirt": HYPERVISORS,
    "migration": HYPERVISORS | {FORMER},
    "QEMU's other": HYPERVISORS | {FORMER},
    "console": HYPERVISORS | {FORMER, "nova-novncproxy"},
    "northbound": MEMBERS,
    "southbound": MEMBERS | HYPERVISORS | {FORMER},
    # Clients that compare no names: who is believed is whom they tell their password, or take orders from.
    "a chassis' southbound": MEMBERS,
    "nova-compute's queue": {"rabbitmq"},
}


@dataclass(frozen=True, kw_only=True)
class Door:
    """Whom a listener believes: the file of its authorities, and names."""

    authorities: Path
    names: tuple[str, ...] = ("*",)

    def opens(self, shown: x509.Certificate) -> bool:
        """Whether ``shown`` gets in, whatever its usage: GnuTLS of libvirt and QEMU does not look at that."""
        return any(fnmatchcase(shown.subject.rfc4514_string(), name) for name in self.names) and any(
            _issued(shown, one) for one in x509.load_pem_x509_certificates(self.authorities.read_bytes())
        )


def _issued(shown: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        shown.verify_directly_issued_by(authority)
    except (ValueError, InvalidSignature):
        return False
    return True


@pytest.fixture
def leaves(tmp_path: Path) -> Mapping[str, x509.Certificate]:
    plan = make_plan(load_site(SITE))
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    signing = {use: ensure_authority(store, tmp_path, site=plan.site, use=use) for use in USES}
    specs = users(plan)
    like = next(one for one in specs if one.user == "hypervisor-1")
    everybody = [*specs, type(like)(user=FORMER, authority=like.authority, names=(FORMER,), usage=like.usage)]
    assert {one.user for one in specs} >= HYPERVISORS | MEMBERS | {"edge", "seed", "rabbitmq", "nova-novncproxy"}
    proxy = next(one for one in certificates(plan) if one.user == "nova-novncproxy")
    leaves = {one.user: ensure_leaf(signing[one.authority], store, tmp_path, one).certificate for one in everybody}
    found = _data(plan, proxy, directory=tmp_path, secret=store.get)
    (tmp_path / "proxy.crt").write_bytes(base64.b64decode(found["ca.crt"]))
    return leaves


@pytest.fixture
def doors(tmp_path: Path, leaves: Mapping[str, x509.Certificate], monkeypatch: pytest.MonkeyPatch) -> dict[str, Door]:
    assert leaves
    at = {use: (tmp_path / file(use)).read_text().rstrip("\n") for use in USES}  # as the lookup returns it
    monkeypatch.setattr(placed, "_check", lambda *_, **__: None)
    for module, names in ((placed, ("LIBVIRT", "QEMU", "OURS", "AUTHORITY")), (converge, ("CA", "CHASSIS_CA"))):
        for name in names:
            monkeypatch.setattr(module, name, tmp_path / str(getattr(module, name)).lstrip("/"))
    pair = placed.Pair(
        user="hypervisor-1", certificate="", key="", authority=at["hypervisor"], consoles=at["console"],
        ovn=at["ovn"], queue=at["queue"],
    )  # fmt: skip
    placed.own(Changes(check=False), pair, readers=None, units=())
    placed.of_libvirt(Changes(check=False), pair, readers=None)
    converge.place_authorities(Changes(check=False), own=at["ovn"], hypervisors=at["hypervisor"])

    def on_host(text: str) -> Path:
        return tmp_path / text.strip('"').lstrip("/")

    qemu = dict(line.split(" = ") for line in libvirt._QEMU.splitlines() if " = " in line)
    daemon = libvirt._libvirtd(HYPERVISORS, uuid="")
    ovn = dict(re.findall(r"--(ovn-\w+)-db-ssl-ca-cert=(\S+?)[\s\"]", configuration.options("10.0.0.1")))
    return {
        "libvirt": Door(
            authorities=placed.AUTHORITY,
            names=tuple(re.findall(r'"(.+?)"', daemon.partition("tls_allowed_dn_list = ")[2].partition("\n")[0])),
        ),
        "migration": Door(authorities=on_host(qemu["migrate_tls_x509_cert_dir"]) / "ca-cert.pem"),
        "QEMU's other": Door(authorities=on_host(qemu["default_tls_x509_cert_dir"]) / "ca-cert.pem"),
        "console": Door(authorities=on_host(qemu["vnc_tls_x509_cert_dir"]) / "ca-cert.pem"),
        "northbound": Door(authorities=on_host(ovn["ovn-nb"])),
        "southbound": Door(authorities=on_host(ovn["ovn-sb"])),
        "a chassis' southbound": Door(authorities=placed.OURS / "ca.pem"),
        "nova-compute's queue": Door(authorities=placed.OURS / placed.QUEUE),
    }


@pytest.mark.parametrize("door", EXPECTED)
def test_a_certificate_opens_what_its_holder_uses_and_nothing_else(
    door: str, doors: Mapping[str, Door], leaves: Mapping[str, x509.Certificate]
) -> None:
    assert {user for user, leaf in leaves.items() if doors[door].opens(leaf)} == EXPECTED[door]


def test_the_console_proxy_believes_hypervisors_alone(tmp_path: Path, leaves: Mapping[str, x509.Certificate]) -> None:
    door = Door(authorities=tmp_path / "proxy.crt")
    assert {user for user, leaf in leaves.items() if door.opens(leaf)} == HYPERVISORS | {FORMER}


def test_every_listener_of_ovn_is_in_the_table() -> None:
    words = configuration.options("10.0.0.1")
    assert len(re.findall("-ssl-ca-cert=", words)) == len(databases.DATABASES) + 1, "and northd, which is a client"
