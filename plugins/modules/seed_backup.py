#!/usr/bin/python
"""Saves what a seed knows of machines, and restores it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: seed_backup
short_description: Save and restore what a seed knows of machines
version_added: 0.2.0
description:
  - Saves Ironic's database, the calls of installed machines and the leases of machines that boot from the network, all
    while they are in use, and restores them on a seed that was made anew.
  - The action of the same name keeps backups in the site's state directory on the controller, encrypted by the password
    of the secrets store, with mode 0600, digest, release and time, and removes old ones.
  - What a role or the plan makes again is in no backup. That is configuration, programs, boot media and images.
options:
  step:
    description:
      - V(take) saves. V(verify) reads the newest backup again and fails when it is damaged or too old; it asks no host.
      - V(check) fails while something stands against restoring O(source). V(restore) saves what is there, if that knows
        machines, and puts O(source) in its place.
    type: str
    required: true
    choices: [take, verify, check, restore]
  force:
    description:
      - What is accepted. V(overwrite), machines that the seed knows now are forgotten, or set back to what they were.
        V(outdated), machines that were erased since the backup count as installed.
    type: list
    elements: str
    default: []
    choices: [overwrite, outdated]
  port:
    description: Port of Ironic on the loopback. The action fills it in.
    type: int
    default: 0
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.backup
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Save what the seed knows of machines
  groundup.cloud.seed_backup:
    site_file: "{{ groundup_site_file }}"
    step: take
"""

RETURN = r"""
nodes:
  description: Machines that the seed knows, or knew before, by id, with C(name) and C(state).
  type: dict
  returned: success, unless verifying
schema:
  description: Revision of the schema of Ironic's database, empty when there is none.
  type: str
  returned: success, unless verifying
backup:
  description: What is known of the backup, with its C(name), C(file), C(sha256) and C(counts).
  type: dict
  returned: when there is one
held:
  description: Machines that are on hold because something went on with them when the backup was taken.
  type: list
  elements: str
  returned: when one was restored
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
from ..module_utils._ironic import backup


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Do the step. Raises GroundupError, OSError."""
    if given["step"] == "take":
        return backup.take(changes)
    if given["step"] == "restore":
        return backup.restore(changes, given["content"], backup=given["source"], port=given["port"])
    return backup.ask()


def main() -> None:
    """Read the options, do the step, report."""
    run_module(
        {
            "site_file": {"type": "path", "required": True},
            **BACKUP,
            "force": {"type": "list", "elements": "str", "default": [], "choices": ["overwrite", "outdated"]},
            "port": {"type": "int", "default": 0},
        },
        work,
    )


if __name__ == "__main__":
    main()
