#!/usr/bin/python
"""Save a part of a site, verify its newest backup, and restore it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: backup
short_description: Save, verify and restore a part of a site
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.network_backup), C(groundup.cloud.network_restore),
    C(groundup.cloud.seed_backup) and C(groundup.cloud.seed_restore)."
  - The control node keeps backups in the site's state directory, with mode 0600, digest, time and what they are of, and
    removes old ones.
options:
  step:
    description:
      - V(take) saves the part. V(verify) reads the newest backup and fails when it is damaged or too old; it contacts
        no host.
      - V(check) fails if something prevents restoring O(source). V(restore) takes another backup, if there is anything
        to save, and replaces the part by O(source).
    type: str
    choices: [take, verify, check, restore]
    required: true
  part:
    description:
      - V(ovn) is OVN's northbound database, from which northd rebuilds the southbound one. On every control host; that
        of the raft leader does the work, the others report that they do not lead. A restore removes no backup, and is
        one transaction.
      - V(seed) is what the seed knows of machines. It is Ironic's database, the call-home records of installed machines
        and the DHCP leases of network boot, saved while they are in use. Its backups are encrypted with the password of
        the secrets store, and leave out what roles or the plan can recreate.
    type: str
    choices: [ovn, seed]
    required: true
  keep:
    description: Number of backups to keep. V(0) keeps all.
    type: int
    default: 14
  days:
    description: Maximum age of the newest backup, in days.
    type: float
    default: 2.0
  source:
    description: Backup to restore, as its name, V(newest), or the path of its JSON file elsewhere.
    type: str
    default: newest
  force:
    description:
      - Risks to accept. V(overwrite) loses what was made since the backup; of the seed, it loses or resets machines
        that it knows now.
      - V(new-cluster), of OVN, restores a backup of a former cluster of this site, whose data are lost. V(outdated), of
        the seed, treats machines erased since the backup as installed.
    type: list
    elements: str
    default: []
  content:
    description: Content of the backup. The action fills it in.
    type: str
    default: ""
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Save the northbound database
  groundup.cloud.backup:
    site_file: "{{ groundup_site_file }}"
    part: ovn
    step: take
"""

RETURN = r"""
backup:
  description: Metadata of the backup, with its C(name), C(file), C(sha256) and C(counts).
  type: dict
  returned: when there is one
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: with O(step=take) and O(step=restore)
schema:
  description: Version of the database's schema. Empty when the seed has no database.
  type: str
  returned: success, unless verifying, on the host that does the work
leader:
  description: Whether this host's member is the leader.
  type: bool
  returned: with O(part=ovn), unless verifying
cluster:
  description: Id of the cluster.
  type: str
  returned: with O(part=ovn), when it leads
counts:
  description: Number of rows of the database (before a restore), by table.
  type: dict
  returned: with O(part=ovn), when it leads
sync:
  description: Commands that compare OVN with Neutron's own database, and then correct OVN.
  type: list
  elements: str
  returned: with O(part=ovn) and O(step=check) or O(step=restore), when it leads
nodes:
  description: Machines in the seed's database (before a restore), by id, with C(name) and C(state).
  type: dict
  returned: with O(part=seed), unless verifying
held:
  description: Machines that are on hold because they were changing state when the backup was taken.
  type: list
  elements: str
  returned: with O(part=seed) and O(step=restore)
"""

from typing import TYPE_CHECKING

from ..module_utils._base.module import run_step
from ..module_utils._ironic import backup as seed
from ..module_utils._ovn import backup as ovn

if TYPE_CHECKING:
    from ..module_utils._base.module import Work

PARTS = {"ovn": ovn, "seed": seed}  # the steps of a part on a host


def _part(step: str) -> Work:
    return lambda changes, given: getattr(PARTS[given["part"]], step)(changes, given)


def main() -> None:
    """Run the step of the part."""
    run_step(
        {"take": _part("take"), "verify": None, "check": _part("check"), "restore": _part("restore")},
        secret=("content",),
    )


if __name__ == "__main__":
    main()
