#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine
short_description: Bring one machine of an Ironic to a state
version_added: 0.2.0
description:
  - Makes, describes, provisions, switches and forgets one machine of the Ironic on a site's seed, or of any cloud, by
    openstacksdk. Runs on the controller and waits for each step.
  - What is not written is left as it is. Of mappings the keys that are written are set, others stay.
  - Machines of a site file are installed by M(groundup.cloud.machine_install), which takes all from the plan.
options:
  name:
    description: Name of the machine, or its UUID when it is there.
    type: str
    required: true
  state:
    description:
      - V(present) makes and describes it. V(manageable), V(available) and V(provisioned) bring it to that state of
        Ironic, through those before it; V(provisioned) is Ironic's C(active).
      - V(absent) forgets it.
    type: str
    choices: [present, absent, manageable, available, provisioned]
    default: present
  power:
    description: Whether it is to be switched on, after O(state) is reached. Without it, power stays as it is.
    type: str
    choices: ["on", "off"]
  driver:
    description: Driver of its management controller, such as V(redfish). Required for a new machine.
    type: str
  driver_info:
    description:
      - What the driver is told, such as address, user and password. Ironic never shows a password, so that another
        one is not noticed for a machine that has one; forget the machine, and make it again.
    type: dict
  interfaces:
    description: Interfaces of the driver by kind, such as V(boot) and V(deploy).
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
  ports:
    description: MAC addresses of its ports. Missing ones are made; others stay.
    type: list
    elements: str
    default: []
  image:
    description: What O(state=provisioned) writes to its disk.
    type: dict
    suboptions:
      url:
        description: URL of the image.
        type: str
        required: true
      sha256:
        description: Its digest.
        type: str
        required: true
      format:
        description: Its format.
        type: str
        choices: [qcow2, raw]
        default: qcow2
  configdrive:
    description: Configuration drive of O(state=provisioned), with C(meta_data), C(network_data), C(user_data).
    type: dict
  force:
    description:
      - With O(state=available) or O(state=manageable), takes the system of a provisioned machine away.
      - With O(state=absent), forgets a machine whatever is on it or done with it, and leaves it as it is.
    type: bool
    default: false
  timeout:
    description: Seconds that one step may take.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Predicts every step, also those of a machine that is still to be made.
  diff_mode:
    description: Shows fields and states; secrets are masked.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.ironic
"""

EXAMPLES = r"""
- name: Enrol a machine in the seed's Ironic, and have its controller asked
  groundup.cloud.machine:
    site_file: "{{ groundup_site_file }}"
    name: spare-1
    state: manageable
    driver: redfish
    driver_info:
      redfish_address: https://10.77.1.20
      redfish_username: admin
      redfish_password: "{{ lookup('groundup.cloud.secret', 'bmc/default') }}"
    ports: ["52:54:00:4d:00:20"]
  no_log: true

- name: Install it
  groundup.cloud.machine:
    cloud: seed
    name: spare-1
    state: provisioned
    image:
      url: https://10.77.0.8:8080/machine-13/13/machine.qcow2
      sha256: "{{ digest }}"

- name: Switch it off
  groundup.cloud.machine:
    cloud: seed
    name: spare-1
    power: "off"
"""

RETURN = r"""
machine:
  description: The machine as Ironic has it; empty when it is absent, or in check mode still to be made.
  type: dict
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
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: always
"""
