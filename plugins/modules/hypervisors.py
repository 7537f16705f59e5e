#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisors
short_description: Converge and verify what the cloud knows of all hypervisors
version_added: 0.2.0
description:
  - "Private: for the role P(groundup.cloud.hypervisor#role) and the playbook C(groundup.cloud.hypervisor)."
  - Asks Nova, Placement and Neutron at their public names, as the administrator, from the control node.
options:
  step:
    description:
      - V(wait) waits until each of O(hosts) has an OVN chassis with live agents, a compute service that is up, a cell,
        and a resource provider with inventory. Nova itself maps new hosts to their cell, every
        C(scheduler.discover_hosts_in_cells_interval). Changes nothing.
      - V(place) creates a Nova aggregate for each rack, room, label and availability zone of the site's hypervisors,
        and adds the hosts that have joined. Sets a trait for each on their resource providers. Changes only aggregates
        whose metadata C(groundup_site) is the site's name, and traits that begin with C(CUSTOM_GROUNDUP_). Refuses a
        foreign aggregate with the same name. Hosts that are no longer in the site file stay in their aggregates.
      - V(probe) boots an instance on each new host, and enables a host whose instance answers ssh. New are those whose
        compute service Nova created disabled, and those whose last probe failed; without them it does nothing. Creates
        a project with all an instance needs, as M(groundup.cloud.tenant_smoke) does, and an instance with a floating
        IP on each new host. Any other host stays disabled with the fault as its reason, and is in C(aside). Deletes
        all of it, also after a failure, SIGTERM or Ctrl-C, and leftovers of a killed run of this control node. Never
        enables a host that was disabled for another reason; reports it in C(kept) and in a warning.
      - V(verify) fails if aggregates, zones or traits differ from the plan, or if a host still needs its probe.
        Changes nothing.
      - V(compare) reports a compute service on a machine that is not one of O(hosts), and agents on a machine that is
        not one of O(machines), with the verbs that take the machine out of the cloud. Warns of those of O(hosts) that
        a drain or a retirement disabled. Changes nothing.
    type: str
    choices: [wait, place, probe, verify, compare]
    required: true
  hosts:
    description: Names of the hypervisors of this run. With O(step=compare), of all hypervisors of the site file.
    type: list
    elements: str
    required: true
  machines:
    description: Names of all machines of the site file. With O(step=compare).
    type: list
    elements: str
  parallel:
    description: Hosts to probe at once, at most the project's quota of instances.
    type: int
    default: 8
attributes:
  check_mode:
    description:
      - V(place) assumes that all O(hosts) have joined; without a cloud, everything is new.
      - V(probe) boots nothing and lists the hosts to probe. V(wait) does nothing.
      - V(compare) finds nothing if the cloud does not answer.
  diff_mode:
    description: Shows aggregates, traits and compute services.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.instance
  - groundup.cloud.site.file
"""
