"""Lookup of an unpacked root file system of the lock."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import predicts

DOCUMENTATION = r"""
name: rootfs
short_description: A root file system of the lock, as a directory of the controller
description:
  - Returns the directory an artifact of kind C(root) is unpacked in. It is made when the cache lacks it, and never
    written to.
  - When a run only predicts (check mode, C(--tags check)), nothing is made, and the answer is an empty string.
options:
  _terms:
    description: Names of artifacts.
    required: true
author:
  - The groundup.cloud developers (@groundup-cloud)
"""

EXAMPLES = r"""
- name: What the lab's hosts are made from
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.rootfs', 'rootfs-host') }}"
"""

RETURN = r"""
_raw:
  description: Absolute paths.
  type: list
  elements: str
"""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no types
    """Hands over to the supply library."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **_options: Any) -> list[str]:
        """Return the directories of the root file systems ``terms``."""
        if predicts(variables or {}):
            return ["" for _ in terms]
        try:
            return [str(unpacked(term, progress=Display().display)) for term in terms]
        except GroundupError as error:
            raise AnsibleLookupError(str(error)) from error
