#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: identity_providers
short_description: Create the site's providers of logins in Keystone
version_added: 0.2.0
description:
  - Creates identity provider, protocol and mapping of each provider (OpenID Connect) of the site file in Keystone, its
    domain, its groups and their roles. Corrects what differs.
  - Deletes providers of the site that its file no longer has, and takes back roles that the file gave before. Domains
    and groups stay. Providers that somebody else made are refused under the same name, and else left alone.
  - Asks Keystone whether it can send a browser to each provider. One that it cannot is a warning of step C(apply), and
    a failure of step C(verify). Logins by password do not depend on it.
  - In a dry run without a cloud, predicts all of them as new.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
options:
  step:
    description: C(apply), or C(verify), which changes nothing.
    type: str
    choices: [apply, verify]
    default: apply
"""

EXAMPLES = r"""
- name: Create providers of logins
  groundup.cloud.identity_providers:
    site_file: inventories/lab/site.yml
"""

RETURN = r"""
providers:
  description: Names of the providers.
  type: list
  elements: str
  returned: success
left:
  description: What providers that were deleted leave behind.
  type: list
  elements: str
  returned: success
changes:
  description: Changes, one line each.
  type: list
  elements: str
  returned: always
"""
