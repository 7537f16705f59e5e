#!/usr/bin/python
"""The state of a site: what each host says of itself, and all of it as one table."""

from __future__ import annotations

DOCUMENTATION = r"""
module: status
short_description: State of a site, as a table or as JSON
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.status) of the same collection."
  - Reads only. Holds no lock, leaves nothing on hosts and waits for nothing to become better.
options:
  step:
    description:
      - V(host) asks the host for the layers on it. One that does not answer is a result, not an error.
      - V(report) asks what the control node reaches (the Kubernetes API, Nova, Neutron, backups, journals of machines),
        prints all of it, and fails when something is broken or not made yet. When something could not be asked, it
        ends as unreachable, so that Ansible's exit code is 4.
    type: str
    choices: [host, report]
    required: true
  hosts:
    description: Names of the hosts that were asked. With O(step=report).
    type: list
    elements: str
    default: []
  result:
    description: Name of the variable with their results. With O(step=report).
    type: str
    default: status_host
  output:
    description: What O(step=report) prints.
    type: str
    choices: [table, json]
    default: table
  path:
    description: File that gets the JSON document, too.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

RETURN = r"""
status:
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
    state:
      description: The worst state of all rows, in the order V(ok), V(warning), V(unknown), V(not made), V(broken).
      type: str
    counts:
      description: Number of rows by state.
      type: dict
    parts:
      description:
        - Rows by part, C(hosts), C(virtual_ip), C(nodes), C(releases), C(ceph), C(ovn), C(hypervisors),
          C(certificates), C(backups), C(versions), C(machines). A part that the site does not have is empty.
      type: dict
      contains:
        name:
          description: What the row is of.
          type: str
        state:
          description: V(ok), V(warning), V(unknown), V(not made) or V(broken).
          type: str
        what:
          description: The state in words.
          type: str
        remedy:
          description: What to do. Empty when there is nothing to do.
          type: str
        facts:
          description: What is known of it, by name. Each part has its own.
          type: dict
"""

from ..module_utils._base.module import run_step
from ..module_utils._status.host import of_host

RULES = {"required_if": [("step", "report", ("hosts",))]}


def main() -> None:
    run_step({"host": of_host, "report": None})


if __name__ == "__main__":
    main()
