#!/usr/bin/python
"""Converge the runner on a seed, which runs layers on machines that called home, without a controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: runner_node
short_description: Converge the runner on a seed
version_added: 0.1.0
description:
  - Places ansible-core and ansible-runner from the site's file server, this collection, the site file and the site's
    public files, and a service that runs layers on each machine as soon as it has called home.
  - Generates an ssh key and a password on the seed, which never leave it. The public key is stored in the site's state
    directory on the controller; machines installed from then on accept it.
options:
  site_file:
    description: Path of the site file on the controller.
    type: path
    required: true
  release:
    description: Version of ansible-core.
    type: str
    required: true
  environment_url:
    description: URL of the Python environment; its digest is beside it.
    type: str
    required: true
  contact_url:
    description: URL of the call-home service.
    type: str
    required: true
  public:
    description: Public files of the site's state directory that layers read, by their path there.
    type: dict
    required: true
  site_text:
    description: Content of the site file. The action sets it.
    type: str
  collection:
    description: Digest of this collection. The action sets it.
    type: str
  content:
    description: This collection as an archive, if the host lacks it. The action sets it.
    type: str
  verify:
    description: Change nothing; check that the service runs.
    type: bool
    default: false
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Converge the runner
  groundup.cloud.runner_node: "{{ ironic_runner_options }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
lacking:
  description: Whether the host lacks the collection. Nothing was changed then, and the action sends it.
  type: bool
  returned: success
public_key:
  description: The runner's public key. Empty in check mode if there is none yet.
  type: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._ironic import runner


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge or verify. Raises GroundupError."""
    key, lacking = "", False
    if given["verify"]:
        runner.serves()
    elif lacking := (runner.lacks(given["collection"]) and not given["content"] and not changes.check):
        pass
    else:
        key = runner.converge(changes, given)
    return {**changes.result(), "lacking": lacking, "public_key": key}


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "site_file": {"type": "path", "required": True},
            "release": {"type": "str", "required": True},
            "environment_url": {"type": "str", "required": True},
            "contact_url": {"type": "str", "required": True},
            "public": {"type": "dict", "required": True},
            "site_text": {"type": "str"},
            "collection": {"type": "str"},
            "content": {"type": "str"},
            "verify": {"type": "bool", "default": False},
        },
        work,
    )


if __name__ == "__main__":
    main()
