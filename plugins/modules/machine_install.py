#!/usr/bin/python
"""Install machines from power-off with the seed's Ironic."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_install
short_description: Install machines from power-off
version_added: 0.1.0
description:
  - Enrols each machine of O(hosts) in the seed's Ironic, or finds it among discovered machines. Boots it by virtual
    media or from the network, compares the ramdisk's inspection with the plan, writes the operating system with the
    plan's network and the site's key, and waits until the machine has called home with its ssh host key.
  - Runs on the controller. Leaves an installed machine that has called home unchanged. A killed run continues when it
    is run again. Each change of a machine's state is a line of C(metal/<host>.jsonl) in the site's state directory.
  - Refuses three kinds of machines - powered on but not running the seed's ramdisk, installed according to the journal
    but unknown to Ironic, and with unapproved data on its disks.
options:
  hosts:
    description: Names of the machines.
    type: list
    elements: str
    required: true
  layers:
    description:
      - Layers to run on each machine, with ansible-runner and for this machine only, as soon as it has called home.
      - The output is kept below C(metal/runs/<host>) in the site's state directory. Empty leaves configuration to the
        following layers.
    type: list
    elements: str
    default: []
  at_once:
    description:
      - Machines to install at the same time, including those of other runs. Others wait - racks take turns, and
        machines of groups that allow no unavailable machine are first.
    type: int
    default: 20
  per_rack:
    description: Machines of one rack to install at the same time. Default is no limit per rack.
    type: int
  again:
    description:
      - Failed machines that were repaired - their attempts are counted from zero, and they leave maintenance.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds a machine may stay in one state.
    type: int
    default: 3600
  discovery:
    description: Seconds unknown machines may take to boot from the network and be inspected.
    type: int
    default: 600
  wait_all:
    description:
      - Whether to wait for all machines, even if enough of their group serve without them (C(machines.<group>.enough)
        of the site file). If false, the run ends once every group meets its criteria, and returns the unfinished
        machines in RV(aside) as C(pending). Machines of a group that met its criteria before the run are always waited
        for.
    type: bool
    default: false
attributes:
  check_mode:
    description: Reads the machines' states from Ironic, if it runs.
  diff_mode:
    description: Shows the states.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Install machines
  groundup.cloud.machine_install:
    site_file: "{{ groundup_site_file }}"
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
aside:
  description:
    - Machines that failed, each with C(host), C(layer), C(reason) and C(remedy). They do not affect the others.
    - Also machines that were not waited for, marked C(pending).
  type: list
  elements: dict
  returned: success
"""
