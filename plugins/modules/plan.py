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
  against:
    description:
      - A former plan of the site - a C(plan.json), a directory with one such as the site's state directory, or the root
        of a clone or an installation of a former version, which then plans the same site file.
      - What differs is printed, by layer. No findings are printed and no files are written. Fails when something
        differs, or when the plan has errors; ends as unreachable when nothing can be compared.
    type: path
  report:
    description: What is printed with O(against).
    type: str
    choices: [table, json]
    default: table
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
comparison:
  description: The document that O(report=json) prints.
  type: dict
  returned: with O(against)
  contains:
    site:
      description: Name of the site.
      type: str
    against:
      description: What it was compared with.
      type: str
    state:
      description: V(same) or V(differs).
      type: str
    counts:
      description: Number of differences by layer and kind. The layer is empty for what no run changes.
      type: dict
    summary:
      description: What a run would change, in words.
      type: str
    rows:
      description: One a difference.
      type: list
      elements: dict
      contains:
        layer:
          description: Layer whose run makes it so; empty for none.
          type: str
        kind:
          description: V(host), V(address), V(version), V(image), V(chart), V(value), V(file), V(resource), V(finding)
            or V(setting).
          type: str
        what:
          description: Path in C(plan.json), without the host; of a chart's value, the release and the path in
            its values.
          type: str
        host:
          description: Host, or empty.
          type: str
        change:
          description: V(new), V(gone) or V(changed).
          type: str
        before:
          description: Former value. Secrets have names; what looks like a secret is hidden.
          type: raw
        now:
          description: Value of this plan.
          type: raw
answer:
  description: The answer to O(query).
  type: raw
  returned: with O(query)
findings:
  description: Findings of the plan, errors first.
  type: list
  elements: dict
  returned: without O(query) and O(against)
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
  returned: when the site file can be planned, without O(query) and O(against)
defaults:
  description: Defaults that the plan filled in, by the site file's key that can set them.
  type: dict
  returned: when the site file can be planned, without O(query) and O(against)
  sample: {kubernetes.cni: flannel}
hosts:
  description: Number of hosts.
  type: int
  returned: without O(query) and O(against)
files:
  description: Files of the plan, also in check mode.
  type: list
  elements: str
  returned: when written
"""
