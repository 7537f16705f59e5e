# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: ceph_orchestrated
short_description: Tell cephadm or Rook which Ceph the plan has
version_added: 0.1.0
description:
  - For Rook, applies the cluster's Secret, a CephCluster and a CephBlockPool a pool, and waits until Rook reports the
    cluster as ready. Its operator and its CRDs must be there.
  - For cephadm, writes its service specification and configuration into the state directory. It does not run cephadm.
    It fails, with the commands, while the secrets store has no key of the cluster's administrator.
  - Runs on the controller.
options:
  timeout:
    description: Seconds for Rook to report the cluster as ready.
    type: int
    default: 1800
attributes:
  check_mode:
    description: Predicts. Before there is a cluster of Kubernetes, everything is new.
  diff_mode:
    description: Shows files, and each object without its secrets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Tell the orchestrator
  groundup.cloud.ceph_orchestrated:
    site_file: "{{ groundup_site_file }}"
"""

RETURN = r"""
changes:
  description: What was done, or in check mode would be, a line each.
  type: list
  elements: str
  returned: success
"""
