#!/usr/bin/python
"""Documentation of the action of the same name, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: secrets
short_description: Create a site's ssh key, missing secrets and certificates, or remove its state
version_added: 0.1.0
description:
  - Runs on the control node. Returns and prints no values.
options:
  step:
    description:
      - V(create) generates secrets that the plan needs and the encrypted store lacks, and issues the certificates of
        the site's CA. It replaces only certificates that expire soon. It fails when the store of a deployed site is
        missing or cannot be decrypted. Without C(edge.certificate) it removes that certificate's key, C(edge/key).
      - V(certificate) checks a certificate of the public names with its key, and keeps both, the file of
        C(edge.certificate) beside the site file and the secret C(edge/key). When they do not fit each other, or the
        public names, it changes neither. After a kill, V(create) uses the pair that fits.
      - V(ssh_key) creates C(ssh/id_ed25519) in the site's state directory once, and maintains its public key
        C(ssh/id_ed25519.pub). It writes C(access.host_keys) of the site file to C(ssh/host_keys). The inventory plugin
        points Ansible at both.
      - V(remove) removes the state directory of a site whose site file and state have lab hosts only, then the
        password of its store, if this collection wrote it. With another site's, or a machine in either, it fails. When
        O(force) accepts that, it moves the directory to C(<site>.removed-<time>) and keeps the password. It keeps both
        while the site file has machines.
    type: str
    choices: [create, certificate, ssh_key, remove]
    required: true
  given:
    description:
      - Values that V(create) does not generate, by name, such as keys of an external Ceph. They replace existing ones
        only if O(replace) names them, and C(edge/key), which must belong to the certificate in C(edge.certificate).
    type: dict
    default: {}
  replace:
    description:
      - Names in O(given) whose value V(create) puts in place of the store's, such as the secret of a client that a
        provider of logins has made anew. Generated secrets are refused.
    type: list
    elements: str
    default: []
  certificate_file:
    description:
      - With V(certificate), PEM file of the new certificate, leaf first, on the control node. Default is the file of
        C(edge.certificate) itself.
    type: path
  key_file:
    description: With V(certificate), PEM file of its private key, on the control node.
    type: path
  keep:
    description: With V(remove), only check, and remove nothing.
    type: bool
    default: false
  force:
    description:
      - Risks to accept with V(remove). V(machines), hosts that are no lab containers belong to the site.
        V(unknown-state), the state does not say whose it is.
    type: list
    elements: str
    default: []
    choices: [machines, unknown-state]
attributes:
  diff_mode:
    description: Shows names, never values.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Secrets and certificates of the site
  groundup.cloud.secrets:
    step: create
    site_file: "{{ groundup_site_file }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: with O(step=ssh_key) and O(step=certificate)
created:
  description: Names of secrets that were created.
  type: list
  elements: str
  returned: success, with O(step=create)
issued:
  description: Certificates written now, each with the reason.
  type: dict
  returned: success, with O(step=create)
  sample: {edge: close to its end}
store:
  description: Public identity of the store. Hosts record it, to refuse a run with another store.
  type: str
  returned: success, with O(step=create)
"""
