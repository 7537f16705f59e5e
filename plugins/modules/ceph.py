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
        the daemons that have data on the host. RV(waits) lists those without data, RV(due) those that need a restart.
        It refuses data of another cluster, and a device that is not empty. V(monitor) creates the data of the host's
        monitor, once. V(daemons) creates the host's OSDs, once, and starts all daemons; it needs a quorum. V(restart)
        restarts daemons with a new configuration, each when Ceph can do without it, one host at a time.
      - On one monitor's host, V(cluster) creates rules and pools, imports keys, and waits until the cluster is
        healthy. It removes nothing, and refuses a key that differs from the secrets store. In an external Ceph it
        creates what is missing if the site file allows it. V(cluster_verify) checks health, quorum, OSDs and
        placement groups, and writes, reads and deletes with the key of every service in every pool it may use; other
        pools must refuse it.
      - V(gateway) runs radosgw for Swift and S3 with TLS. Its pools and its key must exist. RV(due) says whether it
        needs a restart, which is V(gateway_restart), one host at a time. V(gateway_verify) checks that it answers.
      - V(drain) moves all data off a host's OSDs, as long as copying takes. Old copies are kept until the new ones
        are complete. V(undrain) lets it take data again. V(retire) removes its OSDs, its monitor and its CRUSH
        location. V(replace) destroys one OSD and keeps its number, for V(daemons) to create. V(erase) changes
        nothing, and refuses a host on which the cluster has OSDs or a monitor. V(member) returns what the cluster
        has of a host.
      - V(fence) adds O(addresses) of a host to Ceph's blocklist, or removes them. Its writes are refused then, and
        its locks are free for the next client, for a year at most.
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
      - retire
      - replace
      - erase
      - member
      - fence
    required: true
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
    description: Seconds to wait until the cluster is healthy, or until data have moved.
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
    description: Shows every file without keys, the differences of a pool and the rights of a key.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ceph
"""

EXAMPLES = r"""
- name: Copy a host's data to the others
  groundup.cloud.ceph:
    step: drain
    name: storage-2
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
  delegate_to: storage-1
  vars:
    names: "{{ groundup_site.ceph.secrets }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success, unless verifying
member:
  description: OSDs of the host with number, CRUSH weight and placement groups; whether it has a monitor and
    a place in the CRUSH map, and whether a verb drained it.
  type: dict
  returned: with O(step=member)
known:
  description: Whether the host has an OSD of the cluster.
  type: bool
  returned: for the steps of every storage host
waits:
  description: Daemons without data, C(monitor) or the name of an OSD.
  type: list
  elements: str
  returned: for the steps of every storage host
due:
  description: Daemons that need a restart; of a gateway, whether it does.
  type: raw
  returned: for the steps of every storage host, and with O(step=gateway)
health:
  description: Ceph's health status, with the reasons if it is not HEALTH_OK.
  type: str
  returned: with O(step=cluster_verify)
proven:
  description: Keys of services that were tested.
  type: list
  elements: str
  returned: with O(step=cluster_verify)
"""

from functools import partial
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._ceph import external, verbs, whole
from ..module_utils._ceph.cluster import connected
from ..module_utils._ceph.converge import converge
from ..module_utils._ceph.fence import fence
from ..module_utils._ceph.gateway import Gateway, answers
from ..module_utils._ceph.gateway import converge as converge_gateway
from ..module_utils._ceph.model import ADMIN, entities, node

DAEMONS = ("maintain", "monitor", "daemons", "restart")
VERBS = ("drain", "undrain", "retire", "replace", "erase", "member")
_CLUSTER = ("ceph", "keys", "osds", "timeout")
_GATEWAY = ("name", "address", "password", "ca_certificate", "certificate", "private_key")
RULES = {
    "required_if": [
        *(("step", step, ("name", "hardware", "packages")) for step in DAEMONS),
        *(("step", step, ("osds",)) for step in ("cluster", "cluster_verify")),
        *(("step", step, _GATEWAY) for step in ("gateway", "gateway_restart", "gateway_verify")),
        *(("step", step, ("name",)) for step in VERBS),
        ("step", "replace", ("osd", "hardware")),
        ("step", "fence", ("addresses", "fenced")),
    ]
}


def _daemons(step: Any, changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    return converge(node(given), changes, step=step, known=given["known"], silent=given["silent"])


def _cluster(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    converged = whole.converge if given["ceph"]["backend"] == "native" else external.converge
    return converged(changes, **{name: given[name] for name in _CLUSTER})


def _cluster_verify(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    verified = whole.verify if given["ceph"]["backend"] == "native" else external.verify
    return verified(changes, **{name: given[name] for name in _CLUSTER})


def _gateway(given: dict[str, Any]) -> Gateway:
    key = entities(given["keys"])[given["ceph"]["gateway"]["client"]]
    return Gateway(key=key, **{name: given[name] for name in (*_GATEWAY, "ceph")})


def _gateway_verify(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    answers(_gateway(given))
    return {"changed": False}


def _fence(changes: Changes, given: dict[str, Any]) -> None:
    monitors = {one["name"]: one["address"] for one in given["ceph"]["monitors"]}
    with connected(ADMIN, entities(given["keys"])[ADMIN], monitors) as cluster:
        fence(cluster, changes, given["addresses"], fenced=given["fenced"])


def main() -> None:
    """Run the step."""
    run_step(
        {
            **{step: partial(_daemons, step) for step in DAEMONS},
            "cluster": _cluster,
            "cluster_verify": _cluster_verify,
            "gateway": lambda changes, given: converge_gateway(_gateway(given), changes, restart=False),
            "gateway_restart": lambda changes, given: converge_gateway(_gateway(given), changes, restart=True),
            "gateway_verify": _gateway_verify,
            **{verb: partial(verbs.run, verb) for verb in VERBS},
            "fence": _fence,
        },
        secret=("keys", "password", "private_key"),
    )


if __name__ == "__main__":
    main()
