"""Derives what the contract tests hold the values of the driver of volumes against, from ceph-csi's own chart.

Usage, in tests/: python -m contract.derive_csi CHART

CHART is the directory `charts/ceph-csi-rbd` of ceph-csi's source at the release the lock names. Written:
data/csi-keys.json (key paths and types, no values). `csiConfig` is an empty list in the chart: its keys are those of
the type `ClusterInfo` in ceph-csi's `api/deploy/kubernetes/csi-config-map.go`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from .derive import DATA, types
from .keys import write

CSI_CONFIG = [{"clusterID": "string", "monitors": "list"}]


def main() -> None:
    """Write the file."""
    found = types(yaml.safe_load((Path(sys.argv[1]) / "values.yaml").read_text()))
    found["csiConfig"] = CSI_CONFIG
    write(DATA / "csi-keys.json", {"keys": {"ceph-csi-rbd": found}})


if __name__ == "__main__":
    main()
