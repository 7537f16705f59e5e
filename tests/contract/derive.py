"""Derives the facts the contract tests hold our charts and values against, from OpenStack-Helm's own charts.

Usage: python tests/contract/derive.py VALUES OBJECTS [CHART...]

VALUES holds <chart>.yaml, each a chart's values.yaml; OBJECTS holds <chart>.yaml, each the list of what it renders
with default values ({kind, name, labels, ports, keys, headless}). Written: data/keys.json (key paths and types, no
values) and data/objects.json. Run it again when the charts' version changes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent / "data"
CHARTS = ("mariadb", "rabbitmq", "memcached", "keystone")
KEPT = ("kind", "name", "labels", "ports", "keys", "headless", "containers")


def types(value: Any) -> Any:
    """Return ``value`` with every leaf replaced by the name of its type; maps stay maps, lists are not looked into."""
    if isinstance(value, dict):
        return {str(key): types(item) for key, item in value.items()} or "map"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", type(None): "null"}
    return names[type(value)]


def main() -> None:
    """Write both files."""
    values, objects, *charts = sys.argv[1:]
    chosen = tuple(charts) or CHARTS
    DATA.mkdir(exist_ok=True)
    keys = {chart: types(yaml.safe_load((Path(values) / f"{chart}.yaml").read_text())) for chart in chosen}
    found = {
        chart: [
            {key: item[key] for key in KEPT if key in item}
            for item in yaml.safe_load((Path(objects) / f"{chart}.yaml").read_text())
        ]
        for chart in chosen
    }
    for name, data in (("keys", keys), ("objects", found)):
        (DATA / f"{name}.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
