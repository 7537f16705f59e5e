#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: usage
short_description: Capacity of a cloud, and its use by project
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.capacity) and C(groundup.cloud.usage) of the same collection. Runs on
    the control node."
  - Reads only, by the APIs of the site's own cloud. When a service could not be asked, its rows lack and it ends as
    unreachable, so that Ansible's exit code is 4.
options:
  step:
    description:
      - V(capacity) tells what hypervisors, pools of volumes and networks have, what is used, and when they are full.
      - V(accounts) tells what each project used in a period.
    type: str
    choices: [capacity, accounts]
    required: true
  usage_from:
    description: Begin of the period, a date or time in UTC. Default is the begin of this month.
    type: str
  usage_to:
    description: Its end, which is not part of it. Default is now, and nothing later is told.
    type: str
  capacity_days:
    description: The growth of that many days is taken for the coming ones.
    type: int
    default: 30
  output:
    description: What is printed.
    type: str
    choices: [table, json, csv]
    default: table
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

RETURN = r"""
usage:
  description:
    - The document that O(output=json) prints. C(site) and C(time), when it was asked, in UTC; C(unknown), services that
      could not be asked, and why; C(rows), whose fields are the columns of O(output=csv).
  type: dict
  returned: always
metrics:
  description: The figures of V(capacity) for the node exporter.
  type: str
  returned: always
"""
