#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tempest
short_description: Run OpenStack's own tests (Tempest) against a cloud
version_added: 0.2.0
description:
  - Runs Tempest and its plugins on the control node, with a configuration written from the site's plan, or from the
    answers of any other cloud.
  - Prints progress, each failure at once, and at the end a table with the reasons of skips. A failure that the list of
    explained tests has does not count.
  - Makes an administrator, an image and flavors under a prefix of the run. Deletes these at the end, and what the tests
    left, also after a failure, SIGTERM or Ctrl-C. The next run deletes what a killed one left. Nothing else is deleted.
  - Keeps the results (JSON, JUnit, subunit, log) of the last five runs in the state directory of the site; the
    configuration, which has a password, only while it runs.
  - Needs administrator rights. Fails when a test fails without an explanation; ends as unreachable when the cloud does
    not answer before the tests.
options:
  site_file:
    description: Path of the site file. Tests the site's own cloud; its names need not resolve on the control node.
    type: path
  cloud:
    description: Name of any other cloud in C(clouds.yaml). Its names must resolve.
    type: str
  suite:
    description:
      - V(smoke) runs the few tests of each service that OpenStack marks so, with logins to instances.
      - V(api) runs all tests of the APIs but the slow ones, without logins.
      - V(rbac) runs the plugins' tests of roles.
      - V(scenario) runs the scenarios, with logins.
      - V(trend) has Rally boot instances and make networks, and appends how long that took to a file that stays.
    type: str
    choices: [smoke, api, rbac, scenario, trend]
    default: smoke
  regex:
    description: Regular expression. Only tests of the suite that match it are run.
    type: str
    default: ""
  tests:
    description: File with names of tests, one a line, in place of the suite's tests. C(#) begins a comment.
    type: path
  workers:
    description: Number of tests at a time. They mostly wait.
    type: int
    default: 4
  network:
    description: Name or id of the external network. Default is the first one.
    type: str
    default: ""
  settings:
    description: Options of C(tempest.conf) by section, over those of this module.
    type: dict
    default: {}
  explained:
    description: File with explained tests, used before the collection's own.
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.instance
"""

EXAMPLES = r"""
- name: Smoke tests of a site
  groundup.cloud.tempest:
    site_file: inventories/cloud/site.yml

- name: API tests of block storage in any cloud
  groundup.cloud.tempest:
    cloud: mycloud
    suite: api
    regex: volume
    image: debian-13-genericcloud-amd64.qcow2
    user: debian
    memory_mb: 512
    disk_gb: 5
"""

RETURN = r"""
counts:
  description: Number of tests that passed, failed without an explanation, and were skipped.
  type: dict
  returned: when the tests ended
failed_tests:
  description: Names of tests that failed without an explanation.
  type: list
  elements: str
  returned: when the tests ended
directory:
  description: Directory with C(results.json), C(junit.xml), C(tempest.subunit) and C(tempest.log).
  type: str
  returned: when the tests ended
"""
