#!/usr/bin/python
"""Converge and verify the CRUSH rules, pools and keys of a Ceph cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_cluster
short_description: Converge rules, pools and keys of a Ceph cluster, or verify it
version_added: 0.1.0
description:
  - Runs on one monitor's host. Creates rules and pools, imports keys, and waits until the cluster is healthy.
  - Removes nothing. Refuses a key that differs from the secrets store.
  - In an external Ceph, creates what is missing if the site file allows it, and changes nothing else. Verifies the
    rights of every key; bad health of the cluster is a warning.
options:
  verify:
    description:
      - Check health, quorum, OSDs and placement groups. Write, read and delete with the key of every service in every
        pool it may use; other pools must refuse it. Change nothing else.
    type: bool
    default: false
  osds:
    description: Number of OSDs on all storage hosts together.
    type: int
    required: true
  timeout:
    description: Seconds to wait until the cluster is healthy.
    type: int
    default: 300
attributes:
  check_mode:
    description: Predicts. Without a cluster, everything is new.
  diff_mode:
    description: Shows the differences of a pool and the rights of a key.
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
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
health:
  description: Ceph's health status, with the reasons if it is not HEALTH_OK.
  type: str
  returned: when verifying
proven:
  description:
    - Keys of services that were tested. They write, read and delete in their own pools and are refused elsewhere.
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
