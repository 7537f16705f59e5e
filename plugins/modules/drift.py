#!/usr/bin/python
"""What differs from the site file on a site that runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: drift
short_description: What differs from the site file, as a table or as JSON
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.drift) of the same collection."
  - Starts the dry run of each layer (C(--tags check)), three at a time, without hosts that did not answer. Adds what
    C(groundup.cloud.status) knows beside the site file, and workloads of OpenStack's namespace that no release has.
  - V(compare) reads only, and leaves nothing on hosts. V(judge) fails when something differs. When nothing does, and
    something could not be asked, it ends as unreachable, so that Ansible's exit code is 4.
options:
  step:
    description:
      - V(compare) prints what differs.
      - V(heal) runs the layers that C(monitoring.heal) of the site file lets run unattended, when they mend all that
        O(found) says, in its window and beside nothing else; then it compares again.
      - V(judge) ends as O(found) says.
    type: str
    choices: [compare, heal, judge]
    required: true
  found:
    description: What V(compare) found. With O(step=heal) and O(step=judge).
    type: dict
    default: {}
  result:
    description: Name of the variable with what C(groundup.cloud.status) asked each host.
    type: str
    default: drift_host
  output:
    description: What V(compare) prints.
    type: str
    choices: [table, json]
    default: table
  path:
    description: File that gets the JSON document, too.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site.file
"""

RETURN = r"""
drift:
  description: The document that O(output=json) prints.
  type: dict
  returned: with O(step=compare)
  contains:
    site:
      description: Name of the site.
      type: str
    time:
      description: When it was compared, in UTC.
      type: str
      sample: "2026-11-29T01:20:31+00:00"
    state:
      description: V(clean), V(drift) or V(unknown).
      type: str
    summary:
      description: Number of both by layer, in words.
      type: str
    counts:
      description: Number of rows that say a difference (C(differs)), and of those that could not be asked (C(unknown)).
      type: dict
    plan:
      description: Whether the plan is the one that a run wrote last, and when that was.
      type: str
    rows:
      description: One a difference, or one that could not be asked.
      type: list
      elements: dict
      contains:
        layer:
          description: Layer that finds it, or C(backups), C(certificates), C(versions).
          type: str
        host:
          description: Host, or what else has the difference.
          type: str
        what:
          description: What differs, as the layer's dry run says it.
          type: str
        by:
          description: Who changed it last, and when. Of objects of the cluster alone; else empty.
          type: str
        remedy:
          description: What to do. Empty when nothing is known.
          type: str
        unknown:
          description: Whether it could not be asked.
          type: bool
"""
