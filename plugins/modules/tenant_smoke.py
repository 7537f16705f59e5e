#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tenant_smoke
short_description: Boot an instance as a tenant, and reach it through its floating IP
version_added: 0.2.0
description:
  - Creates a project with a user, and as that user a keypair, security group, network, router, image, instance and
    floating IP. Waits for ssh, sends random bytes there and back, and compares their SHA-256.
  - Signs the image where the site file requires signatures (C(openstack.image_signatures)).
  - Deletes all of it, also after a failure, SIGTERM or Ctrl-C, and leftovers of a killed run of this control node.
    Lists what could not be deleted.
  - Prints each step with its seconds. A failed step shows the cloud's message, with layer, object and remedy.
  - Needs administrator rights for project, user and flavor. Runs on the control node, which must reach floating IPs.
options:
  site_file:
    description: Path of the site file. Connects to the site's own cloud at its virtual IP, without resolving names.
    type: path
  cloud:
    description: Name of any other cloud in C(clouds.yaml).
    type: str
  again:
    description: Whether to repeat the test when nothing has changed since the last success.
    type: bool
    default: true
  thorough:
    description:
      - Whether to also read the instance's console log, fetch its console URL, and live migrate it to another
        hypervisor if there is one. It must then answer at the same address, without a restart.
    type: bool
    default: false
  network:
    description: Name or id of the external network. Default is the first one.
    type: str
    default: ""
  host:
    description:
      - Hypervisor to boot on. Default is the scheduler's choice.
      - The test's user is then an administrator, because only administrators may choose a host.
    type: str
    default: ""
  payload_mb:
    description: Megabytes to send each way. They are stored in the instance's C(/tmp), in its memory.
    type: int
    default: 20
  keep:
    description: Whether to keep everything for inspection. The next run on this control node deletes it.
    type: bool
    default: false
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.instance
"""

EXAMPLES = r"""
- name: An instance answers
  groundup.cloud.tenant_smoke:
    site_file: inventories/lab/site.yml
    thorough: true

- name: An instance answers in any cloud
  groundup.cloud.tenant_smoke:
    cloud: mycloud
    image: debian-13-genericcloud-amd64.qcow2
    user: debian
    memory_mb: 512
    disk_gb: 5
"""

RETURN = r"""
steps:
  description: Each step with name, seconds, detail and whether it succeeded.
  type: list
  elements: dict
  returned: always
address:
  description: The floating IP.
  type: str
  returned: when it was proven
host:
  description: The hypervisor the instance ran on.
  type: str
  returned: when it was proven
moved_to:
  description: The hypervisor it was moved to live, empty when it was not moved.
  type: str
  returned: when it was proven
seconds:
  description: Seconds from the request until ssh answered.
  type: float
  returned: when it was proven
"""
