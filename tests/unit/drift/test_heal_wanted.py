"""What a site file may wish of unattended runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, build_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.monitoring import HEALED, NEVER_HEALED
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example


@pytest.mark.parametrize("layer", [*NEVER_HEALED, "hots"])
def test_a_layer_that_may_destroy_is_refused_by_name_with_the_reason(layer: str) -> None:
    why = NEVER_HEALED.get(layer, "there is no such layer")
    with pytest.raises(SiteError, match=re.escape(f"'{layer}': may not run unattended, as {why}")):
        build_site(_site(layers=["host", layer]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"layers": []}, "at least 1"),
        ({"window": "2:00-5:00"}, "window"),
        ({"window": "02:00-02:00"}, "begins when it ends"),
    ],
)
def test_a_wish_that_means_nothing_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SiteError, match=said):
        build_site(_site(**given))


def test_nothing_is_mended_where_nobody_compares() -> None:
    with pytest.raises(SiteError, match="heal needs drift"):
        build_site(_site(drift=None))


def test_each_layer_may_run_unattended_or_says_why_not() -> None:
    assert {*HEALED, *NEVER_HEALED} == {*LAYERS}


def _site(*, drift: str | None = "daily", **given: Any) -> dict[str, Any]:
    wanted = {"layers": ["host"], "window": "02:00-05:00", **given}
    return changed(example("lab"), {"monitoring/enabled": True, "monitoring/drift": drift, "monitoring/heal": wanted})
