# Documentation of the action plugin of the same name, which does the work on the controller.
DOCUMENTATION = r"""
module: plan
short_description: Plan a site and report findings, without touching a machine
version_added: 0.1.0
description:
  - Plans the site from the site file alone, and prints the findings as a table.
  - Writes C(plan.json), the whole plan, C(topology.svg), its picture, and for a site with
    instances C(packets.svg), the ways of their packets, when they differ.
  - Fails on findings of severity C(error), and then leaves the state directory unchanged.
  - Runs on the controller and contacts nothing.
options:
  output:
    description: Directory to write to, created when missing. Default is the site's state directory.
    type: path
  strict:
    description: Whether warnings fail too.
    type: bool
    default: false
attributes:
  check_mode:
    description: Prints findings, predicts files, and writes nothing.
  diff_mode:
    description: Shows differences from the existing files.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Judge the site
  groundup.cloud.plan:
    site_file: "{{ groundup_site_file }}"

- name: Draw it for a review
  groundup.cloud.plan:
    site_file: inventories/region/site.yml
    output: /tmp/review
    strict: true
"""

RETURN = r"""
findings:
  description: What the plan noticed, errors first.
  type: list
  elements: dict
  returned: always
  sample:
    - name: cidr-overlap
      severity: error
      where: [networks.storage.cidr, networks.tunnel.cidr]
      what: 10.0.1.0/24 and 10.0.1.0/25 share addresses
      why: "a packet to a shared address takes one of two ways, by chance of routes: both planes fail in part"
      remedy: give each plane a network of its own
counts:
  description: Findings by severity.
  type: dict
  returned: when the site file can be planned
defaults:
  description: What the site file leaves out and the plan filled in, by the key where it can be written.
  type: dict
  returned: when the site file can be planned
  sample: {kubernetes.cni: flannel}
hosts:
  description: How many hosts the site has.
  type: int
  returned: always
files:
  description: The files that hold, or in check mode would hold, the plan.
  type: list
  elements: str
  returned: when written
"""
