#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_overview
short_description: Show where the machines of a site are
version_added: 0.2.0
description:
  - Prints a table of all machines of a site - rack, state, what is done with it, for how long, and how long that took
    on machines of this site before. A failed one has its failure card below it.
  - Runs on the controller and reads the journals in the site's state directory. No host is asked.
  - A machine that the seed does not install has a row without a state. One that only has a journal, because it left
    the site file or was never in it, has a row without a rack.
options:
  output:
    description:
      - What is printed. With V(json) a document with C(site), C(time) in seconds of the epoch, and C(machines) as in
        RV(machines). Its first line is C({), its last C(}).
    type: str
    choices: [table, json]
    default: table
  follow:
    description:
      - Goes on until no machine moves. On a terminal the table is drawn again in place, elsewhere each change is a
        line.
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
      description: Its name.
      type: str
    rack:
      description: Its rack; empty, as group and provisioner, where the site file does not have the machine.
      type: str
    group:
      description: Its group of machines in the site file.
      type: str
    provisioner:
      description: Who makes it a host, as in the site file.
      type: str
    state:
      description: The state of its way; null for a machine that the seed does not install.
      type: str
    doing:
      description: What is done with it.
      type: str
    since:
      description: When that began, in seconds of the epoch; null for a machine without a journal.
      type: float
    elapsed:
      description: Seconds since then.
      type: float
    expected:
      description: Seconds that it took on machines of this site, in the middle; null where none has done it yet.
      type: float
    moving:
      description: Whether it goes on by itself, as far as its journal says.
      type: bool
    card:
      description: Why it does not go on (C(what), C(why), C(remedy)); null for all but a failed one.
      type: dict
    may:
      description: Why each of C(approve) and C(retry) is not possible now; empty text where it is.
      type: dict
    asks:
      description: Who waits for approval, Ironic's node and a digest of what is on its disks; empty where none does.
      type: str
"""
