#!/usr/bin/python
"""Converge and verify the object gateway (radosgw) on one storage host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_gateway
short_description: Converge the object gateway of a storage host, or verify it
version_added: 0.1.0
description:
  - Runs radosgw for Swift and S3 with TLS. It starts without Keystone, and uses its Keystone account to check a
    client's token.
  - Its pools and its key must exist in the cluster; M(groundup.cloud.ceph_cluster) creates them.
options:
  address:
    description: Address that radosgw listens on.
    type: str
    required: true
  password:
    description: Password of the gateway's Keystone account.
    type: str
    required: true
  restart:
    description:
      - Restart a running gateway to load a new configuration. Use it on one host at a time, so that the others serve
        meanwhile.
      - Without it, RV(due) says whether a restart is needed.
    type: bool
    default: false
  verify:
    description: Only check that the gateway answers.
    type: bool
    default: false
attributes:
  check_mode:
    description: Predicts.
  diff_mode:
    description: Shows every file without secrets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ceph
  - groundup.cloud.host
  - groundup.cloud.host.certificate
"""

EXAMPLES = r"""
- name: Converge the object gateway
  groundup.cloud.ceph_gateway:
    name: "{{ groundup_host.name }}"
    address: "{{ groundup_host.address }}"
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
    password: "{{ lookup('groundup.cloud.secret', groundup_site.ceph.gateway.password) }}"
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
    certificate: "{{ lookup('groundup.cloud.state_file', 'pki/rgw-storage-1.crt') }}"
    private_key: "{{ lookup('groundup.cloud.secret', 'pki/rgw-storage-1-key') }}"
  vars:
    names: ["ceph/client.rgw"]
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
due:
  description: Whether a restart is needed.
  type: bool
  returned: when converging
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._base.options import CERTIFICATE
from ..module_utils._ceph.gateway import Gateway, answers, converge
from ..module_utils._ceph.model import entities


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge or verify. Raises GroundupError, OSError."""
    own = ("name", "address", "ceph", "password", "ca_certificate", "certificate", "private_key")
    key = entities(given["keys"])[given["ceph"]["gateway"]["client"]]
    gateway = Gateway(key=key, **{name: given[name] for name in own})
    if given["verify"]:
        answers(gateway)
        return {"changed": False}
    return converge(gateway, changes, restart=given["restart"])


def main() -> None:
    """Read the options, converge or verify, report."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "address": {"type": "str", "required": True},
            "ceph": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
            "password": {"type": "str", "required": True, "no_log": True},
            **CERTIFICATE,
            "restart": {"type": "bool", "default": False},
            "verify": {"type": "bool", "default": False},
        },
        work,
    )


if __name__ == "__main__":
    main()
