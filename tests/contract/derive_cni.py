"""Derives what the contract tests hold the values of pod networks against, from their projects' own charts.

Usage, in tests/: python -m contract.derive_cni CILIUM CALICO

CILIUM is the directory of Cilium's chart; CALICO holds `charts/` of Calico's source at the release the lock names.
Written: data/cni-keys.json (key paths and types, no values). An Installation's keys are those of its kind: the chart
passes on to one what is below `installation`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from .derive import DATA, types
from .keys import write

_INSTALLATION = "charts/crd.projectcalico.org.v1/templates/operator.tigera.io_installations.yaml"
_TYPES = {"integer": "number", "array": "list"}


def schema_types(schema: dict[str, Any]) -> Any:
    """Return the key tree of an OpenAPI schema, lists as lists of one tree."""
    if schema.get("properties"):
        return {name: schema_types(inner) for name, inner in schema["properties"].items()}
    if schema.get("type") == "array" and schema["items"].get("properties"):
        return [schema_types(schema["items"])]
    if schema.get("type") == "object":
        return "map"
    kind = str(schema.get("type", "string"))
    return _TYPES.get(kind, kind)


def main() -> None:
    """Write the file."""
    cilium, calico = (Path(argument) for argument in sys.argv[1:])
    kind = yaml.safe_load((calico / _INSTALLATION).read_text())
    versions = {one["name"]: one["schema"]["openAPIV3Schema"] for one in kind["spec"]["versions"]}
    installation = schema_types(versions["v1"]["properties"]["spec"])
    operator = types(yaml.safe_load((calico / "charts/tigera-operator/values.yaml").read_text()))
    # Of an Installation, what is not about single workloads: those are most of it, and none of ours.
    own = {name: tree for name, tree in installation.items() if not name.endswith(("DaemonSet", "Deployment"))}
    operator["installation"] = {**own, "enabled": operator["installation"]["enabled"]}
    found = {
        "cilium": types(yaml.safe_load((cilium / "values.yaml").read_text())),
        "tigera-operator": operator,
        "crd.projectcalico.org.v1": {},
    }
    write(DATA / "cni-keys.json", {"keys": found})


if __name__ == "__main__":
    main()
