#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: identity
short_description: Connect directories and providers of logins with Keystone, and give roles to their groups
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.openstack) of the same collection. Runs on the control node."
  - "Providers (OpenID Connect) of C(identity.providers): creates identity provider, protocol, mapping, domain and
    groups in Keystone, and corrects what differs. Deletes providers of the site that its file no longer has. A
    provider of that name that somebody else made is refused."
  - "Directories (LDAP) of C(identity.domains): asks each from within a pod of Keystone, and Keystone for users of the
    domain. Of a directory that does not answer it tells which step fails (name, connection, TLS, bind or base DN)."
  - "Groups of both: gives the roles of the site file, makes projects that are missing, and takes back roles that an
    earlier run gave and the site file no longer has, of domains that left it, too. Roles that others gave stay, as do
    domains, groups and projects. The domain has the list, in its property C(groundup_roles)."
  - In a dry run without a cloud, predicts all of it as new.
options:
  step:
    description:
      - V(apply) changes Keystone. A directory that does not answer fails at the end, after all else is done. A provider
        that Keystone sends nobody to is a warning.
      - V(verify) changes nothing, and fails when Keystone is not as the site file says, or a directory or provider does
        not answer.
    type: str
    choices: [apply, verify]
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""
