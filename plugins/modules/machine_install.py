#!/usr/bin/python
"""Install machines from power-off by the seed's Ironic."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_install
short_description: Install machines from power-off
version_added: 0.1.0
description:
  - Enrols each machine of O(hosts) in the seed's Ironic, or finds it among those that were discovered. Boots it by
    virtual media or from the network, compares what its ramdisk tells of it with the plan, has its operating system
    written with the plan's network and the site's key, and waits until it has called home. Then its ssh host key is
    known.
  - Runs on the controller. A machine that is installed and has called is left as it is. A run that was killed goes on
    where it was. Each change of a machine's state is a line of C(metal/<host>.jsonl) in the site's state directory.
  - Three machines are refused - one that is switched on without a ramdisk of the seed's, one that the journal says was
    installed while Ironic does not know it, and one with something on its disks that nobody has approved.
options:
  hosts:
    description: Names of the machines.
    type: list
    elements: str
    required: true
  layers:
    description:
      - Layers to configure each machine with, by ansible-runner and for it alone, as soon as it has called home.
      - The output is kept below C(metal/runs/<host>) in the site's state directory. Default is to leave it to the
        layers that follow.
    type: list
    elements: str
    default: []
  at_once:
    description:
      - Machines that are on their way at the same time, those of other runs included. Others wait - racks take turns,
        and machines of groups of which none may be unavailable are first.
    type: int
    default: 20
  per_rack:
    description: The same of one rack. Default is no limit of its own.
    type: int
  again:
    description:
      - Machines that failed, whose fault somebody has mended - their attempts are counted anew, and they leave
        maintenance.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds a machine may stay at one step of its way.
    type: int
    default: 3600
  discovery:
    description: Seconds that machines which nobody knows may take to boot from the network and tell what they are.
    type: int
    default: 600
  wait_all:
    description:
      - Whether machines are waited for without whom enough of their group serve (C(machines.<group>.enough) of the site
        file). Without it, they are left where they are on their way and returned in RV(aside) as C(pending), once every
        group meets its criteria. A group that met them before the run is waited for.
    type: bool
    default: false
attributes:
  check_mode:
    description: Asks Ironic where the machines are, when it is there.
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
    - Machines that failed, each with C(host), C(layer), C(reason) and C(remedy). The others are not concerned.
    - Also those that were not waited for, which are C(pending).
  type: list
  elements: dict
  returned: success
"""
