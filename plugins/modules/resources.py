#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: resources
short_description: Make the cloud's resources as the site file has them
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.resources), C(groundup.cloud.openstack) and
    C(groundup.cloud.cloud_export) of the same collection. Runs on the control node, in one process."
  - Makes and changes what C(cloud) of the site file names, in the order that one needs the other. Compares everything
    before the first change, and refuses before it what an API cannot change, what somebody else made, and quotas below
    their use.
  - Touches only what has the site's mark and was made or taken over by a run, as the ConfigMap C(groundup-resources)
    in the namespace of the cloud tells. What has it and is no longer in the site file stays, with a warning.
  - What members of a project may have done (made something of that name, used up a quota) stops no run. It is left,
    with what needs it, and told.
  - V(apply) holds the Lease C(groundup-resources) in the namespace of the cloud, so that one run at a time makes
    something.
  - In a dry run without a cloud, predicts all of it as new.
options:
  step:
    description:
      - V(apply) changes the cloud.
      - V(verify) changes nothing, and fails when the cloud is not as the site file says.
      - V(export) writes a project of the cloud as C(cloud) of a site file, or as manifests.
    type: str
    choices: [apply, verify, export]
    required: true
  force:
    description:
      - V(delete) deletes what has the site's mark and is no longer in the site file.
      - V(adopt) takes over what has a name of the site file and no mark.
    type: list
    elements: str
    choices: [adopt, delete]
    default: []
  project:
    description: Project to export.
    type: str
  domain:
    description: Its domain.
    type: str
    default: Default
  form:
    description: V(site) is the form of the site file, V(orc) manifests of the OpenStack Resource Controller.
    type: str
    choices: [site, orc]
    default: site
  output:
    description: File to write. Without it, the text is shown.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

RETURN = r"""
left:
  description: What is not as the site file says, and was left so.
  returned: O(step=apply), O(step=verify)
  type: list
  elements: str
"""
