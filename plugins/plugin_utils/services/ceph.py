"""What a service's pods reach the site's Ceph with, by OpenStack-Helm's contract: ``ceph.conf`` and one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Values
from .secrets import secret

if TYPE_CHECKING:
    from ..plan.part_types import CephPlan

CONF = "/etc/ceph/ceph.conf"
_CLIENT = "client."


def user(ceph: CephPlan, client: str) -> str:
    """Return the name by which a client logs in."""
    return ceph.clients[client].name.removeprefix(_CLIENT)


def access(ceph: CephPlan, client: str, *, keyring: str) -> Values:
    """Return values with ``ceph.conf`` in a ConfigMap, and the client's key in a Secret called ``keyring``.

    The charts' own jobs would ask Ceph's administrator for both: here nobody in the cluster has that key. ``key`` is
    what OpenStack-Helm's charts mount, the file beside it what the built-in ones do.
    """
    found, etc = ceph.clients[client], f"{client}-ceph-etc"
    conf = ["[global]", f"fsid = {ceph.fsid}", f"mon_host = {ceph.mon_host}", "log_file ="]
    text = "{{ .Values.extraObjects.ceph_keyring.stringData.key }}"
    return {
        "ceph_client": {"configmap": etc},
        "extraObjects": {
            "ceph_etc": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": etc},
                "data": {"ceph.conf": "\n".join(conf) + "\n"},
            },
            "ceph_keyring": {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": keyring},
                "stringData": {
                    "key": secret(found.secret),
                    f"ceph.{found.name}.keyring": f"[{found.name}]\nkey = {text}\n",
                },
            },
        },
    }
