#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_drain
short_description: Empty a hypervisor, or have it take instances again
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbooks C(groundup.cloud.drain) and
    C(groundup.cloud.undrain) call it.
  - V(check) names what moves and how, and fails while something stands against it. Changes nothing.
  - V(drain) disables the host's compute service, with a reason of its own, then moves each instance away, live where
    that is possible. An instance that is shut off is migrated and confirmed. One that Nova moves already is waited for,
    so a drain that was killed goes on when it is run again. A line for each instance; one that cannot move is named
    with Nova's own reason, and fails the step after all others have moved.
  - V(verify) fails unless the service is disabled and nothing is on the host, or on its way from it or to it.
  - V(enable) enables a service that V(drain), an evacuation or a retirement disabled, known by its reason. Another's
    reason stays.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, drain, verify, enable]
  force:
    description: What is accepted. C(cold), an instance that runs and does not move live is stopped while it moves.
    type: list
    elements: str
    default: []
    choices: [cold]
  parallel:
    description: Instances that are on their way at once.
    type: int
    default: 2
  timeout:
    description: Seconds for each instance.
    type: int
    default: 1800
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.host.leaving
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Move its instances away
  groundup.cloud.hypervisor_drain:
    site_file: inventories/lab/site.yml
    name: hypervisor-2
    step: drain
"""

RETURN = r"""
changes:
  description: What was done, or would be, a line each.
  type: list
  elements: str
  returned: success
evacuated:
  description: Whether it is an evacuation that disabled it.
  type: bool
  returned: success, for step V(enable)
instances:
  description: Instances that left, each with id, name, way, seconds and result. Empty but for step V(drain).
  type: list
  elements: dict
  returned: success, not for step V(enable)
"""
