#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: provider_networks
short_description: Make the site's provider networks in Neutron
version_added: 0.2.0
description:
  - Makes each network of purpose C(provider) that chassis have a bridge to an external network of Neutron, flat or
    VLAN, with one subnet without DHCP. Its pools leave out the gateway and the addresses of the site's own hosts.
  - Corrects MTU, gateway and pools of a network that is there. Deletes nothing, and refuses a network of that name
    whose physical network, VLAN or CIDR is another.
  - In a dry run before there is a cloud, foresees all of them.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Create provider networks
  groundup.cloud.provider_networks:
    site_file: inventories/lab/site.yml
"""

RETURN = r"""
networks:
  description: Names of the networks.
  type: list
  elements: str
  returned: success
changes:
  description: Changes, one line each.
  type: list
  elements: str
  returned: always
"""
