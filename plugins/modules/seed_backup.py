#!/usr/bin/python
"""Save a seed's machine data, and restore it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: seed_backup
short_description: Save and restore a seed's machine data
version_added: 0.2.0
description:
  - Saves Ironic's database, the call-home records of installed machines and the DHCP leases of network boot, all while
    they are in use, and restores them on a rebuilt seed.
  - The action of the same name keeps backups in the site's state directory on the controller, encrypted with the
    password of the secrets store, with mode 0600, digest, release and time, and removes old ones.
  - Backups leave out what roles or the plan can recreate, such as configuration, programs, boot media and images.
options:
  step:
    description:
      - V(take) saves. V(verify) reads the newest backup and fails when it is damaged or too old; it contacts no host.
      - V(check) fails if something prevents restoring O(source). V(restore) saves the present data, if they contain
        machines, and replaces them by O(source).
    type: str
    required: true
    choices: [take, verify, check, restore]
  force:
    description:
      - Risks to accept. V(overwrite) loses or resets machines that the seed knows now. V(outdated) treats machines
        erased since the backup as installed.
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
  description: Machines in the seed's database (before a restore), by id, with C(name) and C(state).
  type: dict
  returned: success, unless verifying
schema:
  description: Schema revision of Ironic's database, empty when there is none.
  type: str
  returned: success, unless verifying
backup:
  description: Metadata of the backup, with its C(name), C(file), C(sha256) and C(counts).
  type: dict
  returned: when there is one
held:
  description: Machines that are on hold because they were changing state when the backup was taken.
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
    """Run the step. Raises GroundupError, OSError."""
    if given["step"] == "take":
        return backup.take(changes)
    if given["step"] == "restore":
        return backup.restore(changes, given["content"], backup=given["source"], port=given["port"])
    return backup.ask()


def main() -> None:
    """Read the options, run the step, report."""
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
