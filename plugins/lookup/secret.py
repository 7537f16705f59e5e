"""Lookup of secrets by name."""

from __future__ import annotations

DOCUMENTATION = r"""
name: secret
short_description: A secret of the site, by name
version_added: 0.1.0
description:
  - Reads the site's encrypted secrets store on the control node. Use it only in tasks with C(no_log), or for an option
    that its module hides.
  - In a dry run (check mode, C(--tags check)), a name that the store does not hold yet gives a temporary value,
    which is stored nowhere.
options:
  _terms:
    description: Names of secrets.
    required: true
extends_documentation_fragment: groundup.cloud.site.lookup
"""

EXAMPLES = r"""
- name: A configuration file that needs a password
  ansible.builtin.template:
    src: keepalived.conf.j2
    dest: /etc/keepalived/keepalived.conf
    mode: "0600"
  vars:
    password: "{{ lookup('groundup.cloud.secret', 'keepalived/auth') }}"
  no_log: true
"""

RETURN = r"""
_raw:
  description: The values.
  type: list
  elements: str
"""

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.vault import open_store


class LookupModule(SiteLookup):
    """Read the secrets store. Never adds to it, except to a dry run's copy in memory."""

    def look(self, terms: list[str]) -> list[str]:
        store = open_store(self.site, write=False)
        if self.dry_run:
            store.ensure(terms)
        return [store.get(name) for name in terms]
