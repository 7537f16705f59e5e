#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: set_aside
short_description: Decide whether a run continues without hosts that failed or are down
version_added: 0.1.0
description:
  - Runs on C(localhost) and on group C(absent) after a layer. On C(localhost), counts the hosts in C(absent) by their
    group of machines, and fails when more are set aside than the site allows, or too few serve; a dry run counts none.
  - On a host that was set aside, ends as unreachable, so that Ansible counts the host and exits with code 4.
options:
  limits:
    description: By group of machines, how many may fail or be down while the run continues.
    type: dict
    required: true
  enough:
    description: By group of machines, how many must serve; only for groups whose machines are not all waited for.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Changes nothing.
extends_documentation_fragment: groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Compare hosts set aside with the limits of the site
  groundup.cloud.set_aside:
    limits: "{{ groundup_site.max_unavailable }}"
    enough: "{{ groundup_site.enough }}"
"""

RETURN = r""" # """
