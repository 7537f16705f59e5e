#!/usr/bin/python
"""Converges and verifies what a Ceph cluster has as a whole: rules, pools and keys."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_cluster
short_description: Converge rules, pools and keys of a Ceph cluster, or verify it
version_added: 0.1.0
description:
  - Runs on one monitor's host. Makes rules and pools, imports keys, and waits until the cluster is whole.
  - Nothing is removed. A key that differs from the secrets store is refused.
  - Of a Ceph that somebody else runs it makes what is missing, where the site file consents, and alters nothing. It
    verifies what every key may do; the cluster's health is a warning.
options:
  verify:
    description:
      - Ask for health, quorum, OSDs and placement groups, and write, read and delete with the key of every service in
        every pool that it reaches. Others must refuse it. Nothing else is changed.
    type: bool
    default: false
  osds:
    description: How many OSDs the storage hosts have together.
    type: int
    required: true
  timeout:
    description: Seconds for the cluster to become whole.
    type: int
    default: 300
attributes:
  check_mode:
    description: Predicts. Before there is a cluster, all of it.
  diff_mode:
    description: Shows what differs of a pool, and the rights of a key.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ceph
"""

EXAMPLES = r"""
- name: Converge pools and keys
  groundup.cloud.ceph_cluster:
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
    osds: 3
  run_once: true
  vars:
    names: "{{ groundup_site.ceph.secrets + groundup_site.ceph.clients.values() | map(attribute='secret') }}"
"""

RETURN = r"""
changes:
  description: What was done, or in check mode would be, a line each.
  type: list
  elements: str
  returned: success
health:
  description: Ceph's word for its health, with the reasons where it is not HEALTH_OK.
  type: str
  returned: when verifying
proven:
  description: Keys of services that wrote, read and deleted, and were refused.
  type: list
  elements: str
  returned: when verifying
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._ceph import external, whole


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge or verify. Raises GroundupError, OSError."""
    ours = given["ceph"]["backend"] == "native"
    if given["verify"]:
        step = whole.verify if ours else external.verify
    else:
        step = whole.converge if ours else external.converge
    return step(changes, **{name: given[name] for name in ("ceph", "keys", "osds", "timeout")})


def main() -> None:
    """Read the options, converge or verify, report."""
    run_module(
        {
            "verify": {"type": "bool", "default": False},
            "ceph": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
            "osds": {"type": "int", "required": True},
            "timeout": {"type": "int", "default": 300},
        },
        work,
    )


if __name__ == "__main__":
    main()
