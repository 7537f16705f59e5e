#!/usr/bin/python
"""Save OVN's northbound database, and restore it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_backup
short_description: Save and restore OVN's northbound database
version_added: 0.2.0
description:
  - Runs on every control host. The raft leader's host does the work; the others report that they do not lead.
  - The action of the same name keeps backups in the site's state directory on the controller, with mode 0600, digest,
    cluster and time, and removes old ones.
  - The southbound database needs no backup, because northd rebuilds it from the northbound one.
options:
  step:
    description:
      - V(take) saves the database. V(verify) reads the newest backup and fails when it is damaged or too old; it
        contacts no host.
      - V(check) fails if something prevents restoring O(source). V(restore) takes another backup, removes none, and
        replaces the database's content by O(source) in one transaction.
    type: str
    required: true
    choices: [take, verify, check, restore]
  force:
    description:
      - Risks to accept. V(overwrite) deletes everything created since the backup. V(new-cluster) restores a backup of a
        former cluster of this site, whose data are lost.
    type: list
    elements: str
    default: []
    choices: [overwrite, new-cluster]
  namespace:
    description: Namespace of Neutron's pods, for the commands in RV(sync).
    type: str
    default: openstack
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.backup
  - groundup.cloud.site
  - groundup.cloud.host.ovn
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: Save the northbound database
  groundup.cloud.ovn_backup:
    site: "{{ groundup_site.site }}"
    name: "{{ inventory_hostname }}"
    step: take
"""

RETURN = r"""
leader:
  description: Whether this host's member is the leader.
  type: bool
  returned: success, unless verifying
cluster:
  description: Id of the cluster.
  type: str
  returned: when it leads
schema:
  description: Version of the database's schema.
  type: str
  returned: when it leads
counts:
  description: Number of rows of the database (before a restore), by table.
  type: dict
  returned: when it leads
backup:
  description: Metadata of the backup, with its C(name), C(file) and C(sha256).
  type: dict
  returned: when there is one
sync:
  description: Commands that compare OVN with Neutron's own database, and then correct OVN.
  type: list
  elements: str
  returned: success, steps V(check) and V(restore)
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success, unless verifying
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._base.options import BACKUP
from ..module_utils._ovn import backup


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Run the step. Raises GroundupError, OSError."""
    if given["step"] == "take":
        return backup.take(changes, given["clusters"])
    if given["step"] == "restore":
        return backup.restore(changes, given["clusters"], given["content"])
    return backup.ask(given["clusters"])


def main() -> None:
    """Read the options, run the step, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            **BACKUP,
            "force": {"type": "list", "elements": "str", "default": [], "choices": ["overwrite", "new-cluster"]},
            "namespace": {"type": "str", "default": "openstack"},
            "clusters": {"type": "dict", "default": {}},
        },
        work,
    )


if __name__ == "__main__":
    main()
