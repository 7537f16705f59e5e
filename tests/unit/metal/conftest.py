"""Sites that the tests of machines share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan


@pytest.fixture
def site(tmp_path: Path) -> Any:
    """Return what plans a site with two machines that nobody knows; what is given is written of their group."""

    def plan(written: str = "approve: automatic", *, machines: str = "") -> Plan:
        text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
        group = text[text.index("  found:") :]
        changed = group.replace("count: 1", "count: 2", 1).replace("approve: automatic", written, 1)
        changed = changed.replace("hosts:\n", f"{machines}hosts:\n", 1)
        (tmp_path / "site.yml").write_text(text.replace(group, changed))
        return make_plan(load_site(tmp_path / "site.yml"))

    return plan
