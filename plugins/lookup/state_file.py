"""Lookup of public files in a site's state directory."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import predicts

DOCUMENTATION = r"""
name: state_file
short_description: A public file of the site's state directory
description:
  - Returns the content of a certificate or a public key that the controller keeps for the site, without its
    last newline.
  - When a run only predicts (check mode, C(--tags check)), a file that is not there yet gives an empty string.
options:
  _terms:
    description: Paths below the state directory. Each ends in C(.crt) or C(.pub).
    required: true
  site:
    description: Name of the site. Default is that of the inventory.
    type: str
author:
  - The groundup.cloud developers (@groundup-cloud)
"""

EXAMPLES = r"""
- name: The site's CA
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
"""

RETURN = r"""
_raw:
  description: The contents.
  type: list
  elements: str
"""

PUBLIC = (".crt", ".pub")


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no types
    """Reads; what is private has other ways."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **options: Any) -> list[str]:
        """Return the contents of the files ``terms``."""
        known = variables or {}
        directory = state_dir(options.get("site") or known["groundup_site"]["site"])
        check = predicts(known)
        return [_content(directory, term, may_miss=check) for term in terms]


def _content(directory: Any, term: str, *, may_miss: bool) -> str:
    path = (directory / term).resolve()
    if not path.is_relative_to(directory.resolve()) or path.suffix not in PUBLIC:
        raise AnsibleLookupError(
            f"{term} is not a public file of {directory}: this lookup reads {' and '.join(PUBLIC)} only"
        )
    try:
        return str(path.read_text(encoding="utf-8").rstrip("\n"))
    except FileNotFoundError:
        if may_miss:
            return ""
        raise AnsibleLookupError(
            f"{path} is missing: run the playbook groundup.cloud.secrets, which writes it"
        ) from None
