"""Documentation that follows from the code: the reference of the site file, tables of records, pictures."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.packets import packets_svg
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg

from . import site_file, states, tables


def contents(root: Path) -> dict[str, str]:
    """Return what each generated file below ``root`` should hold."""
    lab, cloud = (site_plan(root / f"inventories/{name}/site.yml") for name in ("lab", "cloud"))  # pages show them
    return {
        site_file.SCHEMA: site_file.json_schema(),
        site_file.PAGE: site_file.page(),
        **{path: tables.page(path, root) for path in tables.PAGES},
        states.PICTURE: states.picture(),
        "docs/_static/lab-topology.svg": topology_svg(lab),
        "docs/_static/cloud-topology.svg": topology_svg(cloud),
        "docs/_static/cloud-packets.svg": packets_svg(cloud) or "",
    }


def write(root: Path) -> list[str]:
    """Write the files below ``root`` that differ; return those written. A test holds that none does."""
    made = contents(root)
    written = [name for name, text in made.items() if not (root / name).is_file() or (root / name).read_text() != text]
    for name in written:
        (root / name).write_text(made[name], encoding="utf-8")
    return written
