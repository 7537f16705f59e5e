"""Give access to the cluster from a control host: the admin kubeconfig, and credentials to join."""

from __future__ import annotations

import json
import secrets
import shlex
from dataclasses import asdict
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import write_file
from .._base.wait import wait_until
from .._plan.decode import from_dict
from .._plan.kubernetes import KubernetesPlan
from . import documents
from .api import NodeApiError
from .host import NodeHost
from .kubeconfig import with_server
from .refuse import refuse_cluster
from .spec import Join
from .state import observe

SIGNATURE_WAIT = 60.0  # seconds
LIFE = "20m"  # just enough for the joins of one run


def hand_out(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the kubeconfig and, when hosts wait, join credentials. Raises GroundupError, OptionError, OSError."""
    host, waiting = NodeHost(name=given["name"]), given["workers"] or given["control"]
    if given["cluster"]:
        # A run on new hosts alone checks no other member, yet applies objects to the whole cluster.
        refuse_cluster(from_dict(KubernetesPlan, given["cluster"], "options.cluster"), host.name, host)
    text = admin_kubeconfig(host, server=given["server"], may_miss=changes.check, expected_ca=given["expected_ca"])
    join = None
    if waiting and text is not None and not changes.check:
        join = asdict(invite(host, server=given["api"], control=given["control"]))
    starts = changes.check and observe(host.paths).restoring
    return {"changed": waiting, "content": text, "join": join, "starts": starts}


def admin_kubeconfig(host: NodeHost, *, server: str, may_miss: bool, expected_ca: str | None = None) -> str | None:
    """Return the admin kubeconfig with ``server`` (an https URL) in it.

    Returns None when the file is missing, ``may_miss`` is set, and the site has no cluster yet (``expected_ca``, the
    SHA-256 of its CA, is empty) or this host is to start the restored one. Raises GroundupError otherwise.
    """
    path = host.paths.kubernetes / "admin.conf"
    if path.exists():
        return host.admin(lambda text: with_server(text, server))
    if expected_ca and not (may_miss and observe(host.paths).restoring):
        raise GroundupError(
            f"the site has a cluster (CA {expected_ca[:16]}...), and no control host that answers belongs to it",
            where=f"host {host.name}, {path}; on the control node cluster.json of the site's state directory",
            why="no cluster is made anew where one existed: its data would be given up in silence",
            remedy="bring a control host back with its disk, or restore kubernetes-keys and etcd from a backup set "
            "(groundup.cloud.restore, docs/backup.md); only if the cluster and all data in it are lost for good, move "
            "cluster.json and kubeconfig away, and the next run makes a new, empty one",
        )
    if may_miss:
        return None
    raise GroundupError(
        f"{host.name} has no admin kubeconfig",
        where=f"host {host.name}, {path}",
        why="it is the control host that hands out access to the cluster",
        remedy="run the playbook groundup.cloud.kubernetes on the control hosts first",
    )


def invite(host: NodeHost, *, server: str, control: bool) -> Join:
    """Create a bootstrap token and wait until it is usable; for ``control`` hosts, also upload the certificates.

    ``server`` is the https URL of the host's own API server. Raises GroundupError, OSError.
    """
    command = ["kubeadm", "token", "create", "--ttl", LIFE, "--description", "joins of one run of groundup.cloud"]
    printed = host.run(
        [*command, "--print-join-command"], timeout=60, why="hosts that join prove themselves with a token"
    )
    words = shlex.split(printed)
    token, ca_hash = (words[words.index(flag) + 1] for flag in ("--token", "--discovery-token-ca-cert-hash"))
    _wait_until_signed(token.partition(".")[0], host=host, server=server)
    return Join(token=token, ca_hash=ca_hash, certificate_key=_upload_certificates(host) if control else None)


def _wait_until_signed(token_id: str, *, host: NodeHost, server: str) -> None:
    """Wait for the token's signature in cluster-info: an earlier join would not trust its content."""

    def pending() -> str:
        try:
            found = api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info") or {}
        except NodeApiError as error:
            return str(error)
        return "" if f"jws-kubeconfig-{token_id}" in found.get("data", {}) else "no signature yet"

    with host.api(server) as api:
        reason = wait_until(pending, timeout=SIGNATURE_WAIT, pause=0.2)
    if reason:
        raise GroundupError(
            f"the bootstrap token was not signed in {SIGNATURE_WAIT:.0f} s: {reason}",
            where=f"host {host.name}, ConfigMap kube-public/cluster-info",
            why="hosts that join check that signature; kube-controller-manager (bootstrapsigner) writes it",
            remedy="see crictl logs of kube-controller-manager on the host",
        )


def _upload_certificates(host: NodeHost) -> str:
    """Upload the control plane's certificates into the cluster, encrypted, for two hours; return their key."""
    key = secrets.token_hex(32)
    config = host.paths.site / "upload.yaml"
    # The init configuration holds the API server's address; without it, kubeadm would assume the default port.
    init, *others = host.paths.init_file.read_text(encoding="utf-8").split("---\n")
    text = "---\n".join([documents.to_text(json.loads(init) | {"certificateKey": key}), *others])
    write_file(config, text.encode(), mode=0o600)
    try:
        host.run(
            ["kubeadm", "init", "phase", "upload-certs", "--upload-certs", "--config", str(config)],
            timeout=60,
            why="a joining control host takes the cluster's certificates from there",
        )
    finally:
        config.unlink(missing_ok=True)
    return key
