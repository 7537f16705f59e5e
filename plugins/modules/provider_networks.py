#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: provider_networks
short_description: Create the site's provider networks and subnet pool in Neutron
version_added: 0.2.0
description:
  - Creates an external Neutron network, flat or VLAN, for each network of purpose C(provider) to which chassis have a
    bridge, with one subnet without DHCP. Its pools exclude the gateway and the addresses of the site's own hosts.
  - Corrects MTU, gateway and pools of an existing network. Deletes nothing, and refuses a network of the same name with
    another physical network, VLAN or CIDR.
  - Marks the network of C(networks.<name>.default) as the default external one; another that has the mark keeps it, and
    a warning says so.
  - Creates the subnet pool C(tenants) of C(ovn.subnet_pool), shared and the default one, under the same rule. With both
    defaults, asks Neutron whether a project can have an automatic network, and fails when it cannot.
  - In a dry run without a cloud, predicts all of them as new.
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
