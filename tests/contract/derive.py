"""Derives the facts the contract tests hold our charts and values against, from OpenStack-Helm's own charts.

Usage, in tests/: python -m contract.derive VALUES OBJECTS [CHART...]

VALUES holds <chart>.yaml, each a chart's values.yaml; OBJECTS holds <chart>.yaml, each the list of what it renders
with default values ({kind, name, labels, ports, keys, headless}). Written: data/charts/<chart>.json with ``keys`` (key
paths and types, no values) and ``objects``; what others rely on (``relied_on``) is kept as it was written by hand. Run
it again when the charts' version changes. Without CHART: every chart that is deployed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

from .keys import read, write

DATA = Path(__file__).parent / "data"
KEPT = ("kind", "name", "labels", "ports", "keys", "headless", "containers")


def types(value: Any) -> Any:
    """Return ``value`` with every leaf replaced by the name of its type; maps stay maps, lists are not looked into."""
    if isinstance(value, dict):
        return {str(key): types(item) for key, item in value.items()} or "map"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", type(None): "null"}
    return names[type(value)]


def main() -> None:
    """Write a file for each chart."""
    values, objects, *charts = sys.argv[1:]
    for chart in charts or RECORDS:
        path = DATA / "charts" / f"{chart}.json"
        rendered = yaml.safe_load((Path(objects) / f"{chart}.yaml").read_text())
        fact = {
            "keys": types(yaml.safe_load((Path(values) / f"{chart}.yaml").read_text())),
            "objects": [{key: item[key] for key in KEPT if key in item} for item in rendered],
            "relied_on": read(path)["relied_on"] if path.is_file() else [],
        }
        write(path, fact)


if __name__ == "__main__":
    main()
