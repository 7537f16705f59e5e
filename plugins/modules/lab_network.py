#!/usr/bin/python
# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""The networks of a lab: a bridge of this machine for each."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab_network
short_description: Bridges of this machine that stand for the networks of a lab
version_added: 0.1.0
description:
  - Makes a bridge for each network of a site whose machines are system containers. A network's gateway address is given
    to its bridge, so that the controller reaches the hosts from there.
  - Bridges are named after the site, in at most 15 characters; their alias says in words which network they are.
  - Nothing is routed or translated; hosts reach this machine and each other, and nothing else.
options:
  networks:
    description: The plan's networks, as P(groundup.cloud.site#inventory) gives them in C(groundup_site.networks).
    type: dict
    default: {}
  state:
    description:
      - V(absent) removes every link of the site from this machine, also those of networks the plan no longer has.
    type: str
    choices: [present, absent]
    default: present
attributes:
  diff_mode:
    description: Shows, for each bridge, what is not as planned.
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

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._container import network
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import networks_of
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_name


def present(changes: Changes, site: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Make or correct the bridges and return the module's result. Raises GroundupError."""
    networks = networks_of(plan)
    links = network.links()
    for name, item in networks.items():
        faults = "; ".join(network.bridge_faults(site, item, links))
        if faults and changes.add(f"bridge of {name}: {faults}", name=name, before=f"{faults}\n", after="as planned\n"):
            network.make_bridge(site, item, links)
    return {"bridges": {name: link_name(site, name) for name in networks}, **changes.result()}


def absent(changes: Changes, site: str) -> dict[str, Any]:
    """Remove the site's links and return the module's result. Raises GroundupError."""
    mine = network.links_of(site)
    if mine and changes.add("remove the site's links", name="links", before="".join(f"{name}\n" for name in mine)):
        network.remove_links(mine)
    return {"removed": mine, **changes.result()}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "site": {"type": "str", "required": True},
            "networks": {"type": "dict", "default": {}},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    site, changes = module.params["site"], Changes(check=module.check_mode)
    if module.params["state"] == "absent":
        finish(module, lambda: absent(changes, site), host="this machine")
    finish(module, lambda: present(changes, site, module.params["networks"]), host="this machine")


if __name__ == "__main__":
    main()
