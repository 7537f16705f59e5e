#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_overview
short_description: Show the states of a site's machines
version_added: 0.2.0
description:
  - Prints a table of all machines of a site - rack, state, current activity, its elapsed time, and its usual time on
    machines of this site. A failed machine has its failure card below it.
  - Runs on the controller and reads the journals in the site's state directory. Contacts no host.
  - A machine that the seed does not install has no state. A machine that has a journal but is not in the site file has
    no rack.
options:
  output:
    description:
      - Format of the output. V(json) is a document with C(site), C(time) in seconds of the epoch, and C(machines) as in
        RV(machines). Its first line is C({), its last C(}).
    type: str
    choices: [table, json]
    default: table
  follow:
    description:
      - Continue until no machine is moving. A terminal shows the table in place, other output one line per change.
    type: bool
    default: false
  timeout:
    description: Seconds without any change after which O(follow) ends.
    type: int
    default: 1800
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Show machines
  groundup.cloud.machine_overview:
    site_file: "{{ groundup_site_file }}"
    follow: true
"""

RETURN = r"""
machines:
  description: The machines, in the order of the site file.
  type: list
  elements: dict
  returned: success
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
