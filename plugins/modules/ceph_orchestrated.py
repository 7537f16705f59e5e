# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: ceph_orchestrated
short_description: Describe the planned Ceph to cephadm or Rook
version_added: 0.1.0
description:
  - For Rook, applies the cluster's Secret, a CephCluster and a CephBlockPool for each pool, and waits until Rook
    reports the cluster as ready. Rook's operator and CRDs must be installed.
  - For cephadm, writes its service specification and configuration into the state directory. It does not run cephadm.
    It fails and prints the commands to run while the secrets store lacks the key of the cluster's administrator.
  - Runs on the controller.
options:
  timeout:
    description: Seconds to wait until Rook reports the cluster as ready.
    type: int
    default: 1800
attributes:
  check_mode:
    description: Predicts. Without a Kubernetes cluster, everything is new.
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
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""
