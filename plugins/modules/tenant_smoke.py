#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tenant_smoke
short_description: Boot an instance as a tenant, and talk to it through its floating IP
version_added: 0.2.0
description:
  - Makes a project with a user of its own, and as that user a keypair, security group, network, router, image,
    instance and floating IP. Waits for ssh, sends random bytes there and back, and compares their SHA-256.
  - Deletes all of it, also after a failure, SIGTERM or Ctrl-C, and what a killed run of this controller left. Names
    what could not be deleted.
  - Prints each step with its seconds. A step that fails says what the cloud says, with layer, object and remedy.
  - Needs an administrator for project, user and flavor. Runs on the controller, which must reach floating IPs.
options:
  site_file:
    description: Path of the site file. The site's own cloud is asked at its virtual IP; no name is resolved.
    type: path
  cloud:
    description: Name of any other cloud in C(clouds.yaml).
    type: str
  again:
    description: Whether to prove a site again when nothing has changed since its last proof.
    type: bool
    default: true
  thorough:
    description:
      - Whether to read the instance's console, fetch its console's URL, and move it live to another hypervisor, too,
        where there is one. It must answer afterwards at the same address, without a restart.
    type: bool
    default: false
  network:
    description: Name or id of the external network. Default is the first one.
    type: str
    default: ""
  host:
    description:
      - Hypervisor to boot on. Default is the scheduler's choice.
      - The user made for it is an administrator then, because nobody else may choose.
    type: str
    default: ""
  payload_mb:
    description: Megabytes to send each way. They lie in the instance's C(/tmp), in its memory.
    type: int
    default: 20
  keep:
    description: Whether to leave everything for looking. The next run on this controller deletes it.
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
  description: Each step with name, seconds, detail and whether it went well.
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
