"""Lines of `stream.py` and outcomes for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.explained import SHIPPED, Explained, load
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.report import Outcome
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.results import results

COMPUTE = "tempest.api.compute.test_servers.ServersTest"
NETWORK = "neutron_tempest_plugin.api.test_trunk.TrunkTest"
KNOWN = """
skipped:
  - reason: Qux .* not available
    why: the site has no Qux
failed:
  - test: test_web_download
    says: timed out
    why: no internet here
    option: image.http_image
left_out:
  - test: TrunkTest.test_all
    why: it stops every agent
"""


def line(test: str, status: str = "success", why: str = "", seconds: float = 1.0) -> dict[str, Any]:
    return {"test": test, "status": status, "seconds": seconds, "why": why}


def known(place: Path, text: str = KNOWN) -> Explained:
    path = place / "explained.yml"
    path.write_text(text)
    return load(path)


def outcome(place: Path, chosen: list[str], *lines: dict[str, Any], left: tuple[str, ...] = ()) -> Outcome:
    entries = known(place)
    found = results(chosen, lines, entries)
    return Outcome(
        cloud="cloud", suite="api", began="2026-11-28T10:00:00Z", seconds=130.0, workers=4,
        versions={"tempest": "47.0.0"}, results=found, left_out={f"{NETWORK}.test_all": "it stops every agent"},
        mended=entries.mended(one.test for one in found if one.verdict == "passed"), not_deleted=left,
    )  # fmt: skip


__all__ = ("COMPUTE", "NETWORK", "SHIPPED", "known", "line", "outcome")
