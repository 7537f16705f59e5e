#!/usr/bin/python
"""Ceph on the storage hosts, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph
short_description: Converge and verify Ceph, and change its storage hosts
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.storage#role) of the same collection."
options:
  step:
    description:
      - On every storage host, V(maintain) installs Debian's Ceph packages, writes configuration and keys, and runs
        the daemons that have data on the host. C(waits) lists those without data, C(due) those that need a restart.
        It refuses data of another cluster, and a device that is not empty. V(monitor) creates the data of the host's
        monitor, once. V(daemons) creates the host's OSDs, once, and starts all daemons; it needs a quorum. V(restart)
        restarts daemons with a new configuration, each when Ceph can do without it, one host at a time.
      - On one monitor's host, V(cluster) creates rules and pools, imports keys, and waits until the cluster is
        healthy. It removes nothing, and refuses a key that differs from the secrets store. In an external Ceph it
        creates what is missing if the site file allows it. V(cluster_verify) checks health, quorum, OSDs and
        placement groups, and writes, reads and deletes with the key of every service in every pool it may use; other
        pools must refuse it.
      - V(gateway) runs radosgw for Swift and S3 with TLS. Its pools and its key must exist. C(due) says whether it
        needs a restart, which is V(gateway_restart), one host at a time. V(gateway_verify) checks that it answers.
      - V(drain) moves all data off a host's OSDs, as long as copying takes. Old copies are kept until the new ones
        are complete. V(undrain) lets it take data again. V(retire) removes its OSDs, its monitor and its CRUSH
        location. V(replace) destroys one OSD and keeps its number, for V(daemons) to create. V(erase) changes
        nothing, and refuses a host on which the cluster has OSDs or a monitor. V(member) returns what the cluster
        has of a host, V(images) the images in a pool, V(watchers) the clients that have images open.
      - V(rest) sets C(noout) for a host when all data and the quorum can do without it. V(rise) waits until its OSDs
        are up with all their data, and clears it.
      - V(fence) adds O(addresses) of a host to Ceph's blocklist, or removes them. Its writes are refused then, and
        its locks are free for the next client, for a year at most.
      - On the control node, V(orchestrate) describes the planned Ceph to cephadm or Rook. For Rook it applies the
        cluster's Secret, a CephCluster and a CephBlockPool for each pool, and waits until Rook reports the cluster as
        ready; Rook's operator and CRDs must be installed. For cephadm it writes its service specification and
        configuration into the state directory, and does not run cephadm. It fails and prints the commands to run while
        the secrets store lacks the key of the cluster's administrator.
    type: str
    choices:
      - maintain
      - monitor
      - daemons
      - restart
      - cluster
      - cluster_verify
      - gateway
      - gateway_restart
      - gateway_verify
      - drain
      - undrain
      - rest
      - rise
      - retire
      - replace
      - erase
      - member
      - images
      - watchers
      - fence
      - orchestrate
    required: true
  ceph:
    description: The plan of the cluster, C(groundup_site.ceph). Not with V(orchestrate), which makes it anew.
    type: dict
  keys:
    description: Keys by name of secret. Not with V(orchestrate).
    type: dict
  site_file:
    description: Path of the site file. With V(orchestrate).
    type: path
  name:
    description: Name of the host; with a verb, of the host that it is about.
    type: str
  hardware:
    description: Hardware profile of the host, which names the disks of its OSDs.
    type: str
  packages:
    description: Packages of the OS to install.
    type: list
    elements: str
  known:
    description:
      - Whether any storage host has an OSD of the cluster. A monitor without data then joins the existing quorum.
    type: bool
    default: false
  silent:
    description:
      - Storage hosts that did not answer whether they have an OSD. If there are any and O(known) is false, nothing is
        created.
    type: list
    elements: str
    default: []
  osds:
    description: Number of OSDs on all storage hosts together.
    type: int
  timeout:
    description: Seconds to wait until the cluster is healthy, until data have moved, or until Rook is ready.
    type: int
    default: 3600
  address:
    description: Address that radosgw listens on.
    type: str
  password:
    description: Password of the gateway's Keystone account.
    type: str
  certificate:
    description: Certificate of the host, in PEM.
    type: str
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
  ca_certificate:
    description: Certificate of the CA that O(certificate) is from, in PEM.
    type: str
  osd:
    description: Number of the OSD to replace.
    type: int
  pool:
    description: Pool whose images are listed.
    type: str
  disks:
    description: Names of images by pool. With O(step=watchers).
    type: dict
  here:
    description: Whether the module runs on the host itself. V(retire) then stops its daemons and removes their data.
    type: bool
    default: false
  force:
    description:
      - Risks to accept. V(lost), for V(retire), loses data that only this host has. V(copy), for V(replace), loses the
        copies on the OSD's disk.
    type: list
    elements: str
    choices: [lost, copy]
    default: []
  addresses:
    description: Addresses of the host to fence.
    type: list
    elements: str
  fenced:
    description: Whether it is blocked.
    type: bool
attributes:
  check_mode:
    description: Predicts, and refuses what a run would refuse. Without a cluster, everything is new.
  diff_mode:
    description: Shows every file and object without keys, the differences of a pool and the rights of a key.
extends_documentation_fragment: groundup.cloud.attributes
"""

from functools import partial
from typing import Any, Literal

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import OptionError
from ..module_utils._base.module import run_step
from ..module_utils._ceph import external, verbs, whole
from ..module_utils._ceph.cluster import connected
from ..module_utils._ceph.converge import converge
from ..module_utils._ceph.fence import fence
from ..module_utils._ceph.gateway import Gateway, answers
from ..module_utils._ceph.gateway import converge as converge_gateway
from ..module_utils._ceph.model import ADMIN, entities, node, plan, watching

DAEMONS = ("maintain", "monitor", "daemons", "restart")
VERBS = ("drain", "undrain", "rest", "rise", "retire", "replace", "erase", "member", "images", "watchers")
_GATEWAY = ("name", "address", "password", "ca_certificate", "certificate", "private_key")
RULES = {
    "required_if": [
        *(("step", step, ("ceph", "keys", "name", "hardware", "packages")) for step in DAEMONS),
        *(("step", step, ("ceph", "keys", "osds")) for step in ("cluster", "cluster_verify")),
        *(("step", step, ("ceph", "keys", *_GATEWAY)) for step in ("gateway", "gateway_restart", "gateway_verify")),
        *(("step", step, ("ceph", "keys", "name")) for step in VERBS),
        ("step", "replace", ("osd", "hardware")),
        ("step", "images", ("pool",)),
        ("step", "watchers", ("disks",)),
        ("step", "fence", ("ceph", "keys", "addresses", "fenced")),
        ("step", "orchestrate", ("site_file",)),
    ]
}


def _daemons(step: Any, changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    return converge(node(given), changes, step=step, known=given["known"], silent=given["silent"])


def _cluster(what: Literal["converge", "verify"], changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    ceph = plan(given)
    work = getattr(whole if ceph.backend == "native" else external, what)
    done: dict[str, Any] = work(changes, ceph=ceph, keys=given["keys"], osds=given["osds"], timeout=given["timeout"])
    return done


def _gateway(given: dict[str, Any]) -> Gateway:
    ceph = plan(given)
    if not ceph.gateway:
        raise OptionError("options.ceph.gateway is empty: the site has no object store")
    key = entities(given["keys"])[ceph.gateway.client]
    return Gateway(key=key, ceph=ceph, plan=ceph.gateway, **{name: given[name] for name in _GATEWAY})


def _gateway_verify(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    answers(_gateway(given))
    return {"changed": False}


def _fence(changes: Changes, given: dict[str, Any]) -> None:
    with connected(ADMIN, entities(given["keys"])[ADMIN], watching(plan(given))) as cluster:
        fence(cluster, changes, given["addresses"], fenced=given["fenced"])


def main() -> None:
    run_step(
        {
            **{step: partial(_daemons, step) for step in DAEMONS},
            "cluster": partial(_cluster, "converge"),
            "cluster_verify": partial(_cluster, "verify"),
            "gateway": lambda changes, given: converge_gateway(_gateway(given), changes, restart=False),
            "gateway_restart": lambda changes, given: converge_gateway(_gateway(given), changes, restart=True),
            "gateway_verify": _gateway_verify,
            **{verb: partial(verbs.run, verb) for verb in VERBS},
            "fence": _fence,
            "orchestrate": None,
        },
        secret=("keys", "password", "private_key"),
    )


if __name__ == "__main__":
    main()
