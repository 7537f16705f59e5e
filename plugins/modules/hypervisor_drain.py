#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_drain
short_description: Drain a hypervisor, or enable it again
version_added: 0.2.0
description:
  - Runs on the controller, as the administrator of the site's cloud. The playbooks C(groundup.cloud.drain) and
    C(groundup.cloud.undrain) call it.
  - V(check) lists the instances and how each would move, and fails if something prevents the drain. Changes nothing.
  - V(drain) disables the host's compute service, with a reason of its own, then moves each instance away, live if
    possible. A stopped instance is cold migrated and confirmed. A migration that Nova has started already is waited
    for, so a killed drain continues when it is run again. Prints one line per instance. An instance that cannot move is
    reported with Nova's reason, and fails the step after all others have moved.
  - V(verify) fails unless the service is disabled and no instance is on the host or migrating from or to it.
  - V(ended) waits until the host's nova-compute, which was restarted, has ended the instances that were evacuated.
  - V(enable) enables a service that a drain, an evacuation or a retirement disabled, recognised by its reason. A
    service disabled for another reason stays disabled. Nova hears a service again that was forced down.
options:
  step:
    description: What to do.
    type: str
    required: true
    choices: [check, drain, verify, ended, enable]
  force:
    description: Risks to accept. V(cold) stops a running instance that cannot move live while it moves.
    type: list
    elements: str
    default: []
    choices: [cold]
  parallel:
    description: Instances to move at the same time.
    type: int
    default: 2
  timeout:
    description: Seconds for each instance, or for the step V(ended).
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
  description: Changes made or predicted, one line each.
  type: list
  elements: str
  returned: success
evacuated:
  description: Whether an evacuation had disabled the host.
  type: bool
  returned: success, for step V(enable)
instances:
  description: Instances that left, each with id, name, way, seconds and result. Empty except for step V(drain).
  type: list
  elements: dict
  returned: success, not for step V(enable)
"""
