#!/usr/bin/env python3
"""Bring Nova's three schemas to this image's version, and map its cells: cell0, and cell1 with the queue.

CELL0_CONNECTION is the connection of cell0; the others are in nova.conf. Safe to repeat. One process for what are six
runs of nova-manage: the start of Nova's libraries is most of what each costs. Data are data-migrations.py's, later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


def step(what: str, work: Callable[..., Any], *arguments: Any, **more: Any) -> None:
    """Do one command of nova-manage. What it refuses ends the program."""
    print(what, flush=True)
    if code := work(*arguments, **more):
        raise SystemExit(f"{what}: ended with code {code}")


def main() -> None:
    """Migrate and map."""
    from nova import config, context, objects
    from nova.cmd import manage
    from oslo_log import log

    config.parse_args(["nova-manage"])
    log.setup(config.CONF, "nova")
    objects.register_all()
    database, cells, cell0 = manage.DbCommands(), manage.CellV2Commands(), os.environ["CELL0_CONNECTION"]
    step("migrating the API's schema", manage.ApiDbCommands().sync)
    step("mapping cell0", cells.map_cell0, cell0)
    step(
        "updating cell0", cells.update_cell, objects.CellMapping.CELL0_UUID, name="cell0", transport_url="none:///",
        db_connection=cell0,
    )  # fmt: skip
    known = {cell.name: cell.uuid for cell in objects.CellMappingList.get_all(context.get_admin_context())}
    if "cell1" in known:
        step("updating cell1", cells.update_cell, known["cell1"], name="cell1")
    else:
        step("mapping cell1", cells.create_cell, name="cell1")
    step("migrating the schemas of the cells", database.sync)


if __name__ == "__main__":
    sys.exit(main())
