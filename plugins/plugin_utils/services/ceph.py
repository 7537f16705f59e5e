"""Give a service's pods access to the site's Ceph by OpenStack-Helm's contract: ``ceph.conf`` and one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Values
from .secrets import secret

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan

CONF = "/etc/ceph/ceph.conf"
_CLIENT = "client."


def user(ceph: CephPlan, client: str) -> str:
    """Return a client's login name in Ceph."""
    return ceph.clients[client].name.removeprefix(_CLIENT)


def conf(*, fsid: str, mon_host: str, **more: str) -> str:
    """Return a client's ``ceph.conf``. An image with clones of the second format can be deleted, into the trash."""
    options = {"fsid": fsid, "mon_host": mon_host, "log_file": "", "rbd_default_clone_format": "2", **more}
    return "".join(f"{line}\n" for line in ("[global]", *(f"{key} = {said}".rstrip() for key, said in options.items())))


def access(ceph: CephPlan, client: str, *, keyring: str) -> Values:
    """Return values with ``ceph.conf`` in a ConfigMap, and the client's key in a Secret called ``keyring``.

    The charts' own jobs would create both with Ceph's administrator key, which is not in the cluster.
    """
    etc = f"{client}-ceph-etc"
    text = conf(fsid=ceph.fsid, mon_host=ceph.mon_host)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": etc}, "data": {"ceph.conf": text}}
    return {
        "ceph_client": {"configmap": etc},
        "extraObjects": {"ceph_etc": config, "ceph_keyring": key(ceph, client, keyring=keyring, entry="ceph_keyring")},
    }


def key(ceph: CephPlan, client: str, *, keyring: str, entry: str) -> Values:
    """Return a Secret called ``keyring`` with a client's key, for ``extraObjects.<entry>`` of the values.

    OpenStack-Helm's charts mount ``key``; the built-in ones mount the keyring file.
    """
    found = ceph.clients[client]
    text = f"{{{{ .Values.extraObjects.{entry}.stringData.key }}}}"
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": keyring},
        "stringData": {
            "key": secret(found.secret),
            f"ceph.{found.name}.keyring": f"[{found.name}]\nkey = {text}\n",
        },
    }
