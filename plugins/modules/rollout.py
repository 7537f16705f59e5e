# Documentation of the action plugin of the same name, which does the work on the control node.
DOCUMENTATION = r"""
module: rollout
short_description: Roll out the releases of a site's cloud as one graph
version_added: 0.1.0
description:
  - Renders all releases of the plan in parallel, compares them with the live ones by kind and field, and judges the
    whole change once (the gate).
  - Applies each release as soon as all releases it needs verify. Leaves unchanged, working releases alone.
  - Asks every service whether it works; running pods are no proof.
  - Prints one live line per release, and one failure card for each release that does not come up. Releases that do not
    depend on it continue.
  - Writes C(clouds.yaml) and C(openrc) of the cloud's administrator into the site's state directory, mode 0600, once
    every release verifies. V(verify) fails when they are missing or differ.
  - Stores fingerprints of the site's secrets in the cluster, and refuses another secrets store.
  - Can be interrupted at any moment and run again; it repairs releases of a killed run.
  - Holds a Lease in the namespace of the releases, so that only one control node rolls out at a time.
  - Runs on the control node. Its output contains no secrets.
options:
  verb:
    description:
      - V(check) predicts and judges the change. It fails where V(apply) would be refused.
      - V(apply) rolls out the plan. In check mode it is V(check).
      - V(verify) asks every service, and changes nothing.
    type: str
    choices: [check, apply, verify]
    default: apply
  force:
    description:
      - Reasons of the gate to accept, as C(code) or C(code:release). The gate's table lists the codes.
    type: list
    elements: str
    default: []
  remove:
    description:
      - Releases to remove that are no longer in the site file. By default they are listed and kept.
      - Refused for a release in the site file, or one that a remaining release needs.
      - Volume claims and databases are listed first and kept.
    type: list
    elements: str
    default: []
  one_by_one:
    description:
      - Rolls out release after release, in an order of the graph, and none after one that failed. For the playbook
        C(groundup.cloud.openstack_upgrade). Otherwise a run is refused while such an upgrade is open.
    type: bool
    default: false
  only:
    description:
      - Releases to roll out, with those that they need. Default is all. The whole change is judged in any case; the
        site as a whole is not asked.
      - For the playbook C(groundup.cloud.openstack_upgrade).
    type: list
    elements: str
    default: []
  page:
    description:
      - File on the control node that gets a page for reviewers with O(verb=check), also in check mode. For each release
        that changes - its chart, images, ConfigMaps and Secrets, migrations, pods that are made anew, every field.
      - It contains no secrets.
    type: path
  start_timeout:
    description: Seconds from the upgrade of a release until its workloads are ready.
    type: int
    default: 1200
  verify_timeout:
    description: Seconds until a service verifies.
    type: int
    default: 600
  limits:
    description:
      - Maximum number at once, by name.
      - C(render) is for chart renderings, 4 unless given; C(apply) for releases, 12; C(database) for releases that
        create schemas, 4.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Predicts as O(verb=check) does.
  diff_mode:
    description: Shows every field that would change or has changed; values of Secrets as digests only.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Roll out the cloud
  groundup.cloud.rollout:
    site_file: "{{ groundup_site_file }}"

- name: Roll it out, although a volume claim of the database shrinks
  groundup.cloud.rollout:
    site_file: "{{ groundup_site_file }}"
    force: ["volume-shrink:mariadb"]

- name: Remove Horizon, which was taken out of the site file
  groundup.cloud.rollout:
    site_file: "{{ groundup_site_file }}"
    remove: [horizon]

- name: Ask every service whether it works
  groundup.cloud.rollout:
    site_file: "{{ groundup_site_file }}"
    verb: verify
"""

RETURN = r"""
access:
  description: How to reach the cloud, by what it is for; empty before Keystone has issued a token.
  type: dict
  returned: always
  sample: {dashboard: "https://dashboard.cloud.test"}
claimed:
  description: Names of secrets whose fingerprints were new to the cluster.
  type: list
  elements: str
  returned: when C(verb) is not V(verify)
releases:
  description: How each release ended.
  type: list
  elements: dict
  returned: always
  sample:
    - name: mariadb
      state: ready
      changed: true
      seconds: 41.2
      healed: ""
      checks:
        - name: quorum
          ok: true
          detail: 3 of 3 members, Primary
          layer: database
          object: StatefulSet/mariadb-server
changes:
  description: By release and kind, number of objects created, changed or removed.
  type: dict
  returned: when the verb is check or apply
reasons:
  description: The gate's reasons against the change.
  type: list
  elements: dict
  returned: when the verb is check or apply
cards:
  description: The failure cards.
  type: list
  elements: dict
  returned: always
site:
  description:
    - Checks of the whole site, after all releases. Catalog endpoints, edge routes and cluster Services match, and every
      public URL answers.
  type: list
  elements: dict
  returned: always
token_expires_at:
  description: Expiry of the token that was issued to read the catalog. The token itself is not kept.
  type: str
  returned: when the catalog was read
catalog:
  description: The public endpoints of the catalog at the end of the run.
  type: list
  elements: dict
  returned: when the catalog was read
  sample:
    - {type: identity, name: keystone, region: RegionOne, url: "https://identity.lab.test/v3"}
"""
