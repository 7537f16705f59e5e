"""Lookup of images and files that the seed serves, with digests."""

from __future__ import annotations

DOCUMENTATION = r"""
name: published
short_description: Images and files that a site serves, by digest
version_added: 0.1.0
description:
  - Returns C(images), the plan's image references with their digests by name; C(pins), the same by the plan's own
    references, for values of charts; and C(files), the SHA-256 of each file that the seed serves, by
    C(artifact/version/file).
  - Reads what P(groundup.cloud.seed#module) wrote into the site's state directory. A site without a seed uses an
    existing registry, whose references are returned unchanged.
  - In check mode, images and files that are not published yet have no digest, except those that the seed layer
    predicted in the same run.
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
  description: One dictionary per term, with C(images), C(pins) and C(files).
  type: list
  elements: dict
"""

from typing import Any

from ..plugin_utils.lookups import SiteLookup
from ..plugin_utils.supply.publish import digests


class LookupModule(SiteLookup):
    """Add the digests of published content to the plan's names."""

    def look(self, terms: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return images and files for each plan in ``terms``."""
        return [self._served(site) for site in terms]

    def _served(self, site: dict[str, Any]) -> dict[str, Any]:
        supply = site["supply"]
        record = digests.of_dry_run(self.variables, seed=supply["seed"]) or digests.required(
            site["site"], seed=supply["seed"], dry_run=self.dry_run
        )
        images = record.pin(supply["images"], registry=supply["registry"])
        pins = {reference: images[name] for name, reference in supply["images"].items()}
        return {"images": images, "pins": pins, "files": dict(record.files)}
