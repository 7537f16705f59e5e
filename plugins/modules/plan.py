# Documentation of the action plugin of the same name, which does the work on the control node.
DOCUMENTATION = r"""
module: plan
short_description: Plan a site and report findings, without touching a machine
version_added: 0.1.0
description:
  - Plans the site from the site file alone, and prints the findings as a table.
  - Writes C(plan.json) (the whole plan), C(topology.svg) (its diagram), C(dns.zone) (the records that a DNS server
    needs), for a site with instances C(packets.svg) (the paths of their packets), and for one with monitoring
    C(monitoring/) (scrape targets, alert rules and their routing), if they differ.
  - Fails on findings of severity C(error), and then leaves the state directory unchanged.
  - Runs on the control node and contacts nothing.
options:
  output:
    description: Directory to write to, created when missing. Default is the site's state directory.
    type: path
  strict:
    description: Whether warnings fail too.
    type: bool
    default: false
  query:
    description:
      - JMESPath expression over C(plan.json). The answer is printed, a list of texts one per line, anything else as
        JSON. No findings are printed and no files are written.
      - Fails when the expression is not valid, or finds nothing.
    type: str
attributes:
  check_mode:
    description: Prints findings, predicts changes of files, and writes nothing.
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
answer:
  description: The answer to O(query).
  type: raw
  returned: with O(query)
findings:
  description: Findings of the plan, errors first.
  type: list
  elements: dict
  returned: without O(query)
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
  description: Defaults that the plan filled in, by the site file's key that can set them.
  type: dict
  returned: when the site file can be planned
  sample: {kubernetes.cni: flannel}
hosts:
  description: Number of hosts.
  type: int
  returned: without O(query)
files:
  description: Files of the plan, also in check mode.
  type: list
  elements: str
  returned: when written
"""
