"""Action of module groundup.cloud.usage: asks the cloud's APIs from the control node, and prints rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.cloud.administrator import VERIFY
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError

if TYPE_CHECKING:
    from ..plugin_utils.cloud.usage.rows import Kind, Row
    from ..plugin_utils.plan.types import Plan


class ActionModule(DocumentedAction):
    """Tell what there is room for, or who used what."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Print the rows; unknown when something could not be asked: a part is not taken for all of it."""
        from ..plugin_utils.cloud.usage.rows import (
            CapacityRow,
            as_csv,
            metrics,
            table,
        )  # late imports: a cloud's client is dear

        if given["capacity_days"] < 1:
            raise GroundupError(
                f"capacity_days is {given['capacity_days']}", where="capacity_days", why="growth is by the day",
                remedy="1 or more: -e capacity_days=30",
            )  # fmt: skip
        plan, now = site_plan(given["site_file"]), datetime.now(UTC).replace(microsecond=0)
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        kind, rows, unknown = _asked(plan, given, now)
        found = {"site": plan.site, "time": now.isoformat(), "unknown": unknown, "rows": [asdict(row) for row in rows]}
        forms = {
            "json": lambda: json.dumps(found, indent=2), "csv": lambda: as_csv(kind, rows),
            "table": lambda: table(kind, rows),
        }  # fmt: skip
        self._display.display(forms[given["output"]]())
        figures = metrics([row for row in rows if isinstance(row, CapacityRow)], now=now.timestamp())
        return ended("; ".join(unknown) or "all was asked", unknown=bool(unknown)) | {
            "usage": found, "metrics": figures,
        }  # fmt: skip


def _asked(plan: Plan, given: dict[str, Any], now: datetime) -> tuple[Kind, Sequence[Row], list[str]]:
    from ..plugin_utils.cloud import connection
    from ..plugin_utils.cloud.resources.api import CloudApi
    from ..plugin_utils.cloud.usage import accounts, rows
    from ..plugin_utils.cloud.usage.capacity import Capacity

    services = frozenset(plan.openstack.services)
    during = accounts.period(start=given["usage_from"], end=given["usage_to"], now=now)
    with connection.answered("Keystone", remedy=VERIFY):
        api = CloudApi(connection.of_site(plan))
        api.cloud.authorize()
        if given["step"] == "accounts":
            return rows.UsageRow, *accounts.rows(api, during, services)
    kinds = {kind for kind, one in plan.hypervisor.compute.items() if one["disks"] == "ceph"}
    in_ceph = frozenset(name for name, host in plan.hosts.items() if host.hardware in kinds)
    look = Capacity(api=api, now=now, days=given["capacity_days"], in_ceph=in_ceph)
    return rows.CapacityRow, *look.rows(services)
