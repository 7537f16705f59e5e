#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_info
short_description: Read facts of machines of an Ironic
version_added: 0.2.0
description:
  - Reads what the Ironic on a site's seed, or of any cloud, knows of one machine or all, by openstacksdk. Runs on the
    controller.
options:
  name:
    description: Name or UUID of one machine. Default is all.
    type: str
  cloud:
    description:
      - Cloud of C(clouds.yaml) whose Ironic it is. For a standalone Ironic its C(auth_type) is C(http_basic) or
        C(none).
    type: str
  site_file:
    description:
      - Path of the site file; the Ironic is the one on the site's seed. Exactly one of O(site_file) and O(cloud) is
        required.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.info
"""

EXAMPLES = r"""
- name: Read all machines of the seed
  groundup.cloud.machine_info:
    site_file: "{{ groundup_site_file }}"
  register: found

- name: Name those with a fault
  ansible.builtin.debug:
    msg: "{{ found.machines | selectattr('last_error') | map(attribute='name') }}"
"""

RETURN = r"""
machines:
  description: The machines; none when O(name) is unknown.
  type: list
  elements: dict
  returned: success
  contains:
    id:
      description: UUID of the node.
      type: str
    name:
      description: Its name.
      type: str
    provision_state:
      description: Ironic's state.
      type: str
    target_provision_state:
      description: The state it is on its way to.
      type: str
    power_state:
      description: Whether it is switched on, as V(power on) or V(power off).
      type: str
    is_maintenance:
      description: Whether Ironic leaves it alone.
      type: bool
    maintenance_reason:
      description: Why.
      type: str
    last_error:
      description: The last fault.
      type: str
    driver:
      description: Driver of its management controller.
      type: str
    driver_info:
      description: What the driver is told; secrets are masked.
      type: dict
    properties:
      description: Properties of the hardware.
      type: dict
    extra:
      description: What others keep with it.
      type: dict
    resource_class:
      description: What Nova schedules it by.
      type: str
    boot_interface:
      description: How it boots.
      type: str
    deploy_interface:
      description: How its system is written.
      type: str
    network_interface:
      description: How its networks are switched.
      type: str
    traits:
      description: Its traits.
      type: list
      elements: str
    instance_info:
      description: What is, or is to be, written to it.
      type: dict
    ports:
      description: MAC addresses of its ports.
      type: list
      elements: str
"""
