"""Give a service's pods access to OVN's databases: addresses, and a certificate of the site's CA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Values

if TYPE_CHECKING:
    from ..plan.types import OvnPlan

_CERTIFICATE = "neutron-ovn-tls"  # Secret, created by the layer of OVN's databases: tls.crt, tls.key, ca.crt
_VOLUME = "ovn-tls"
_FILES = {"private_key": "tls.key", "certificate": "tls.crt", "ca_cert": "ca.crt"}


def connection(ovn: OvnPlan, place: str) -> Values:
    """Return the options of section ``[ovn]``, with the certificate mounted at ``place``."""
    files = {f"ovn_{db}_{option}": f"{place}/{file}" for db in ("nb", "sb") for option, file in _FILES.items()}
    return {
        "ovn_nb_connection": ",".join(ovn.northbound),
        "ovn_sb_connection": ",".join(ovn.southbound),
        **files,
        "ovsdb_probe_interval": 60000,
    }


def volume() -> Values:
    """Return the certificate's volume, readable by all in the pod: OpenStack-Helm's charts set no group."""
    return {"name": _VOLUME, "secret": {"secretName": _CERTIFICATE, "defaultMode": 0o444}}


def mount(place: str) -> Values:
    return {"name": _VOLUME, "mountPath": place, "readOnly": True}
