#!/usr/bin/python
"""What patching the operating system of hosts would change, host by host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: patch
short_description: Foretell an upgrade of the packages of hosts
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.patch) of the same collection."
  - Asks apt on each host what it would upgrade from the snapshot of packages that the site runs, or from the host's own
    sources. The package lists for it are fetched into a temporary directory. Nothing on the host changes.
  - Packages are not upgraded in this version. O(apply=true) is refused, after the report.
options:
  step:
    description:
      - V(look) asks the host. One that does not answer is a result, not an error.
      - V(report) prints what all hosts said, and the order of hosts. When a host could not be asked, it ends as
        unreachable, so that Ansible's exit code is 4.
    type: str
    choices: [look, report]
    required: true
  hosts:
    description: Names of the hosts that were asked. With O(step=report).
    type: list
    elements: str
    default: []
  result:
    description: Name of the variable with their results. With O(step=report).
    type: str
    default: patch_host
  output:
    description: What O(step=report) prints.
    type: str
    choices: [table, json]
    default: table
  path:
    description: File that gets the JSON document, too.
    type: path
  apply:
    description: Whether the packages are to be upgraded. With O(step=report).
    type: bool
    default: false
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Ask the host
  groundup.cloud.patch:
    step: look
    site_file: "{{ groundup_site_file }}"
  register: patch_host
"""

RETURN = r"""
changes:
  description:
    - Packages that would be installed or upgraded, with C(package), C(before) (empty for a new one), C(after),
      C(security) (from a security suite), and C(step), in which a package that carries the cloud is upgraded alone.
  type: list
  elements: dict
  returned: with O(step=look), when the host answers
snapshot:
  description: Snapshot of the seed's packages that the host installs from. Empty with another source.
  type: str
  returned: with O(step=look), when the host answers
offered:
  description: Snapshot that the site runs, of the host's release. Empty with another source.
  type: str
  returned: with O(step=look), when the host answers
removed:
  description: Packages that apt would remove.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
kept:
  description: Packages that have a newer version and stay as they are.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
held:
  description: Packages that an administrator set on hold on the host.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
restarts:
  description: By unit that runs what would be upgraded, those packages.
  type: dict
  returned: with O(step=look), when the host answers
reboot:
  description: Packages whose upgrade comes into effect by a reboot.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
waiting:
  description: Units that run files which earlier upgrades removed.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
reboot_waiting:
  description: Why the host waits for a reboot already.
  type: list
  elements: str
  returned: with O(step=look), when the host answers
guests:
  description: Number of QEMU processes.
  type: int
  returned: with O(step=look), when the host answers
debian:
  description: The host's release of Debian.
  type: str
  returned: with O(step=look), when the host answers
fault:
  description: Why the host did not answer.
  type: str
  returned: with O(step=look), when it did not
patch:
  description: The document that O(output=json) prints.
  type: dict
  returned: with O(step=report)
  contains:
    site:
      description: Name of the site.
      type: str
    time:
      description: When it was asked, in UTC.
      type: str
      sample: "2026-11-28T01:20:31+00:00"
    snapshots:
      description: By release of Debian, the path of the snapshot that the site runs.
      type: dict
      sample: {"13": packages-13/2026-11-28-3f9a0c1b}
    order:
      description: Hosts with changes, in the order in which they are patched; those of one list at the same time.
      type: list
      elements: list
    hosts:
      description: By host, what it said.
      type: dict
"""

from ..module_utils._base.module import run_step
from ..module_utils._host.foresight import foretell

RULES = {"required_if": [("step", "report", ("hosts",))]}


def main() -> None:
    """Run the step."""
    run_step({"look": foretell, "report": None})


if __name__ == "__main__":
    main()
