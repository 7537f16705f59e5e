#!/usr/bin/python
"""The seed's registry and file tree, step by step: converged, filled and verified."""

from __future__ import annotations

DOCUMENTATION = r"""
module: seed
short_description: Converge, fill and verify the registry and file tree of a seed
version_added: 0.2.0
description:
  - "Private: for the role P(groundup.cloud.seed#role) of the same collection."
  - The registry accepts pushes at O(registry_inside) only. The web server publishes it read-only at the port of
    O(registry), and the file tree at the port of O(files_url). It speaks TLS only, and refuses clients outside
    O(readers).
options:
  step:
    description:
      - V(converge) first sends the package repositories of O(packages_seed) that the host lacks, and sets its package
        source. Then it installs docker-registry and nginx if missing, and makes them serve with the written
        configuration. nginx checks its new configuration before it replaces the old one, then reloads. Both services
        send a digest of their configuration with every response, and are restarted if it is not the current one.
      - V(publish) compares registry and file tree with the lock, and sends what is missing. It pushes an image only
        when the registry has another digest under its tag, to the host's loopback, through an ssh tunnel with the
        options of Ansible's connection; it sends files as an archive over that connection. Then it verifies pushed
        images by digest, has the host compare the digest of every file it serves, and writes the record of digests
        into the site's state directory. Nodes run images by these digests.
      - V(verify) sends and builds nothing. It fails when the host does not serve every image and file with the right
        digest, and warns of a certificate that expires within a month.
    type: str
    choices: [converge, publish, verify]
    required: true
  registry:
    description: Name and port of the host's registry, as the site reads it.
    type: str
    required: true
  registry_inside:
    description: Loopback address and port that the registry listens on, for pushes.
    type: str
    required: true
  files_url:
    description: Root of the host's file tree, as the site reads it.
    type: str
    required: true
  files_root:
    description: Directory of the host behind O(files_url).
    type: path
    required: true
  ca_certificate:
    description: CA, in PEM, of O(certificate), which is valid for C(127.0.0.1) too.
    type: str
    required: true
  readers:
    description: Client networks to serve, beside the host itself.
    type: list
    elements: str
  certificate:
    description: Certificate of the web server, in PEM.
    type: str
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
  source:
    description: Build artifacts from packages, or fetch what their projects publish.
    type: str
    choices: [build, upstream]
    default: build
  images:
    description: References of images by name. Published is the lock's artifact with that place below O(registry), else
      the one of that name.
    type: dict
  files:
    description: File artifacts of the lock. Default is all that are not optional.
    type: list
    elements: str
  optional_files:
    description: Optional file artifacts of the lock, in addition to O(files).
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Predicts. nginx does not check the configuration.
  diff_mode:
    description: Shows every file of the configuration without secrets. Artifacts are compared by digest.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.packages
  - groundup.cloud.site
"""

from ..module_utils._base.module import run_step
from ..module_utils._seed.converge import converge

RULES = {
    "required_if": [
        ("step", "converge", ("readers", "certificate", "private_key")),
        *(("step", step, ("images",)) for step in ("publish", "verify")),
    ]
}


def main() -> None:
    run_step({"converge": converge, "publish": None, "verify": None}, secret=("private_key", "packages_proxy_login"))


if __name__ == "__main__":
    main()
