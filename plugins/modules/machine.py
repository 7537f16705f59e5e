#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine
short_description: Bring one machine in Ironic to a state
version_added: 0.2.0
description:
  - Creates, updates, provisions, powers and deletes one machine in the Ironic of a site's seed or of any cloud, with
    openstacksdk. Runs on the controller and waits for each step.
  - Leaves omitted options unchanged. In mappings, sets the given keys and keeps the others.
  - M(groundup.cloud.machine_install) installs the machines of a site file from the plan.
options:
  name:
    description: Name of the machine, or the UUID of an existing one.
    type: str
    required: true
  state:
    description:
      - V(present) creates or updates it. V(manageable), V(available) and V(provisioned) bring it to that state of
        Ironic, through the states before it; V(provisioned) is Ironic's C(active).
      - V(absent) deletes it from Ironic.
    type: str
    choices: [present, absent, manageable, available, provisioned]
    default: present
  power:
    description: Power state to set after O(state) is reached. Default is no change.
    type: str
    choices: ["on", "off"]
  driver:
    description: Driver of its management controller, such as V(redfish). Required for a new machine.
    type: str
  driver_info:
    description:
      - Parameters of the driver, such as address, user and password. Ironic never shows a password, so a changed one is
        not detected; delete the machine and create it again.
    type: dict
  interfaces:
    description: Interfaces of the driver by kind, such as V(boot) and V(deploy).
    type: dict
  properties:
    description: Properties of the hardware.
    type: dict
  extra:
    description: Extra data that other programs keep in Ironic.
    type: dict
  resource_class:
    description: Resource class by which Nova schedules it.
    type: str
  ports:
    description: MAC addresses of its ports. Missing ports are created; others stay.
    type: list
    elements: str
    default: []
  image:
    description: Image that O(state=provisioned) writes to its disk.
    type: dict
    suboptions:
      url:
        description: URL of the image.
        type: str
        required: true
      sha256:
        description: SHA-256 of the image.
        type: str
        required: true
      format:
        description: Format of the image.
        type: str
        choices: [qcow2, raw]
        default: qcow2
  configdrive:
    description: Configuration drive of O(state=provisioned), with C(meta_data), C(network_data), C(user_data).
    type: dict
  force:
    description:
      - With O(state=available) or O(state=manageable), undeploys a provisioned machine.
      - With O(state=absent), deletes the machine from Ironic in any state, and leaves the machine itself unchanged.
    type: bool
    default: false
  timeout:
    description: Timeout of one step in seconds.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Predicts every step, also for a machine that does not exist yet.
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
  description: The machine in Ironic; empty when it is absent, or in check mode when it does not exist yet.
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
      description: Provision state.
      type: str
    target_provision_state:
      description: Provision state it is moving to.
      type: str
    power_state:
      description: Power state, V(power on) or V(power off).
      type: str
    is_maintenance:
      description: Whether it is in maintenance.
      type: bool
    maintenance_reason:
      description: Reason of the maintenance.
      type: str
    last_error:
      description: Last error.
      type: str
    driver:
      description: Driver of its management controller.
      type: str
    driver_info:
      description: Parameters of the driver; secrets are masked.
      type: dict
    properties:
      description: Properties of the hardware.
      type: dict
    extra:
      description: Extra data that other programs keep in Ironic.
      type: dict
    resource_class:
      description: Resource class by which Nova schedules it.
      type: str
    boot_interface:
      description: Boot interface.
      type: str
    deploy_interface:
      description: Deploy interface.
      type: str
    network_interface:
      description: Network interface.
      type: str
    traits:
      description: Its traits.
      type: list
      elements: str
    instance_info:
      description: Instance information, such as the image to write.
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
