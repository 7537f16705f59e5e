#!/usr/bin/python
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machines
short_description: Install, approve, show and check a site's machines
version_added: 0.1.0
description:
  - Machines from power-off, which the seed's Ironic installs, and whether any machine is ready for the next layers.
options:
  step:
    description:
      - V(install) enrols each machine of O(hosts) in the seed's Ironic, or finds it among discovered machines. It boots
        it by virtual media or from the network, compares the ramdisk's inspection with the plan, writes the operating
        system with the plan's network and the site's key, and waits until the machine has called home with its ssh host
        key. It leaves an installed machine that has called home unchanged. A killed run continues when it is run again.
        Each change of a machine's state is a line of C(metal/<host>.jsonl) in the site's state directory. It refuses
        three kinds of machines - powered on but not running the seed's ramdisk, installed according to the journal but
        unknown to Ironic, and with unapproved data on its disks. Runs on the control node.
      - V(approve) approves one waiting machine - a discovered machine that matches the plan, or one with data on its
        disks. It stores the approval in the seed's Ironic, for exactly the machine that was inspected. Runs on the
        controller.
      - V(overview) prints a table of all machines of the site - rack, state, current activity, its elapsed time, and
        its usual time on machines of this site. A failed machine has its failure card below it. It reads the journals
        in the site's state directory, on the control node, and contacts no host. A machine that the seed does not
        install has no state. A machine that has a journal but is not in the site file has no rack.
      - V(ready) verifies that the machine lets the control node in and has booted. It sets a machine that does not
        aside, with the remedy. Runs on the machine.
    type: str
    choices: [approve, install, overview, ready]
    required: true
  site_file:
    description: Path of the site file. Not with V(ready).
    type: path
  name:
    description: Name in the site file of the machine that V(approve) is about.
    type: str
  hosts:
    description: Names of the machines that V(install) is about.
    type: list
    elements: str
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
  output:
    description:
      - Format of the overview. V(json) is a document with C(site), C(time) in seconds of the epoch, and C(machines) as
        in RV(machines). Its first line is C({), its last C(}).
    type: str
    choices: [table, json]
    default: table
  follow:
    description:
      - Continue until no machine is moving. A terminal shows the table in place, other output one line per change.
    type: bool
    default: false
  idle_timeout:
    description: Seconds without any change after which O(follow) ends.
    type: int
    default: 1800
  login:
    description: Account, address and port the control node logs in with, for the error of V(ready).
    type: str
  remedy:
    description: Remedy when the machine refuses the control node's login.
    type: str
  boot_timeout:
    description:
      - Seconds to wait for the end of the machine's boot, which must have no failed unit. Without it only connection
        and Python are checked.
    type: int
  unreachable_group:
    description: Group for an unreachable machine that need not be installed yet, instead of setting it aside.
    type: str
attributes:
  check_mode:
    description:
      - V(install) reads the machines' states from Ironic, if it runs. V(approve) names the machine, and approves
        nothing. V(ready) does not wait for a boot.
  diff_mode:
    description: Shows the states of machines to install.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Install machines
  groundup.cloud.machines:
    step: install
    site_file: "{{ groundup_site_file }}"
    hosts: "{{ ansible_play_hosts }}"
  run_once: true

- name: Approve a machine
  groundup.cloud.machines:
    step: approve
    site_file: "{{ groundup_site_file }}"
    name: worker-2

- name: Show machines
  groundup.cloud.machines:
    step: overview
    site_file: "{{ groundup_site_file }}"
    follow: true

- name: Verify the machine
  groundup.cloud.machines:
    step: ready
    login: "{{ ansible_user }}@{{ ansible_host }}"
    remedy: run the playbook groundup.cloud.metal, which makes it
    boot_timeout: 120
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: with O(step=approve) and O(step=install)
aside:
  description:
    - Machines that are set aside, each with C(host), C(layer), C(reason) and C(remedy). They do not affect the others.
    - Also machines that were not waited for, marked C(pending).
  type: list
  elements: dict
  returned: with O(step=install), and with O(step=ready) if the machine is not
msg:
  description: Summary of the overview, or why the machine is unreachable.
  type: str
  returned: with O(step=overview), and when a machine is put into O(unreachable_group)
machines:
  description: The machines, in the order of the site file.
  type: list
  elements: dict
  returned: with O(step=overview)
  contains:
    machine:
      description: Name of the machine.
      type: str
    rack:
      description: Its rack. Rack, group and provisioner are empty if the machine is not in the site file.
      type: str
    group:
      description: Its group of machines in the site file.
      type: str
    provisioner:
      description: Its provisioner in the site file.
      type: str
    state:
      description: State of its installation; null for a machine that the seed does not install.
      type: str
    doing:
      description: Current activity.
      type: str
    since:
      description: Start of the activity, in seconds of the epoch; null for a machine without a journal.
      type: float
    elapsed:
      description: Seconds since C(since).
      type: float
    expected:
      description: Median seconds of the activity on machines of this site; null if none has completed it yet.
      type: float
    moving:
      description: Whether it continues by itself, according to its journal.
      type: bool
    card:
      description: Why a failed machine does not continue (C(what), C(why), C(remedy)); null for all others.
      type: dict
    may:
      description: Why each of C(approve) and C(retry) is not possible now; empty text if it is possible.
      type: dict
    asks:
      description:
        - If the machine waits for approval, Ironic's node and a digest of the data on its disks; otherwise empty.
      type: str
"""
