"""Documentation that follows from the code: site file, tables of records, states of machines."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site

from . import site_file, states, tables


def write(root: Path) -> list[str]:
    """Write the files below ``root`` that differ; return those written. A test holds that none does."""
    load_site(root / "inventories/lab/site.yml")  # a page shows it: it must be a site file
    made = {
        site_file.SCHEMA: site_file.json_schema(),
        site_file.PAGE: site_file.page(),
        states.PICTURE: states.picture(),
    }
    made |= {path: tables.page(path, root) for path in tables.PAGES}
    written = [name for name, text in made.items() if not (root / name).is_file() or (root / name).read_text() != text]
    for name in written:
        (root / name).write_text(made[name], encoding="utf-8")
    return written
