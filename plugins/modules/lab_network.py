# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab_network
short_description: Create the networks of a lab as bridges of this machine
version_added: 0.1.0
description:
  - Creates a bridge for each network of a lab. The bridge has the network's gateway address, so that the controller
    reaches the hosts.
  - Bridge names derive from the site, in at most 15 characters; the alias names the network.
  - Adds no routing and no NAT. Hosts reach only this machine and each other.
options:
  networks:
    description: The plan's networks, as P(groundup.cloud.site#inventory) gives them in C(groundup_site.networks).
    type: dict
    default: {}
  state:
    description:
      - V(absent) removes every link of the site from this machine, including networks the plan no longer has.
    type: str
    choices: [present, absent]
    default: present
attributes:
  diff_mode:
    description: Shows what differs from the plan, for each bridge.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: The site's networks
  groundup.cloud.lab_network:
    site: "{{ groundup_site.site }}"
    networks: "{{ groundup_site.networks }}"
"""

RETURN = r"""
bridges:
  description: Bridge of each network, by the network's name.
  returned: when O(state=present)
  type: dict
  sample: {management: gu57e6fd-1e0b1c}
removed:
  description: Links that were removed.
  returned: when O(state=absent)
  type: list
  elements: str
"""
