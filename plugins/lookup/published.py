"""Lookup of what the seed serves, by content."""

from __future__ import annotations

DOCUMENTATION = r"""
name: published
short_description: Images and files that a site serves, by digest
version_added: 0.1.0
description:
  - Returns C(images), the plan's references with the digest of what is behind each, and C(files), the SHA-256 of each
    file the seed serves, by C(artifact/version/file).
  - Reads what M(groundup.cloud.supply_publish) wrote into the site's state directory. A site without a seed has an
    existing registry, whose names are taken as they are.
  - In check mode what is not published yet has no digest; what the seed's own layer foresaw in the same run counts.
options:
  _terms:
    description: The plan without its hosts, C(groundup_site).
    type: list
    elements: dict
    required: true
author:
  - The groundup.cloud developers (@groundup-cloud)
"""

EXAMPLES = r"""
- name: The image that holds a pod's namespaces
  ansible.builtin.debug:
    msg: "{{ lookup('groundup.cloud.published', groundup_site).images.pause }}"
"""

RETURN = r"""
_raw:
  description: One dictionary a term, with C(images) and C(files).
  type: list
  elements: dict
"""

from typing import Any

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.supply.publish import digests


class LookupModule(SiteLookup):
    """Joins the plan's names with the record of what is published."""

    def look(self, terms: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return images and files of each plan in ``terms``."""
        return [self._served(site) for site in terms]

    def _served(self, site: dict[str, Any]) -> dict[str, Any]:
        supply = site["supply"]
        record = digests.of_dry_run(self.variables, seed=supply["seed"]) or digests.required(
            site["site"], seed=supply["seed"], dry_run=self.dry_run
        )
        return {"images": record.pin(supply["images"], registry=supply["registry"]), "files": dict(record.files)}
