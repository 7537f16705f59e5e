"""Lookup of MAC and IP addresses on the provisioning network."""

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_addresses
short_description: Machines with a planned address on the network provisioning
version_added: 0.1.0
description:
  - Returns MAC address, IP address and name of each machine whose port on the provisioning network is known.
  - The MAC address comes from the site file, or from discovery.
options:
  _terms:
    description: Path of the site file.
    required: true
extends_documentation_fragment: groundup.cloud.site.lookup
"""

EXAMPLES = r"""
- name: Who boots from the network
  ansible.builtin.debug:
    msg: "{{ query('groundup.cloud.boot_addresses', groundup_site_file) }}"
"""

RETURN = r"""
_raw:
  description: The machines, each with C(mac), C(address) and C(name).
  type: list
  elements: dict
"""

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.metal.discovery import known_macs
from ..plugin_utils.metal.journal import home_of
from ..plugin_utils.plan import load_site, make_plan


class LookupModule(SiteLookup):
    """Look up addresses in the plan and in discovered identities."""

    def look(self, terms: list[str]) -> list[dict[str, str]]:
        """Return the machines of the site file ``terms[0]``."""
        plan = make_plan(load_site(terms[0]))
        return known_macs(plan, home_of(plan.site)) if plan.metal and plan.metal.netboot else []
