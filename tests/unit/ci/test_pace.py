"""A whole cloud is not tried on a machine whose memory has no pace at present."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.ci import pace, tier_commands
from ansible_collections.groundup.cloud.ci.tiers import TIERS


def test_the_pace_is_measured_by_copying() -> None:
    assert pace.measured(samples=3, pause=0.0, size=1 << 20) > 0


@pytest.mark.parametrize(("rate", "said"), [(8.0, None), (pace.LEAST, None), (0.34, "copied at 0.34 GB/s at present")])
def test_the_tier_of_a_whole_cloud_says_why_it_does_not_run(
    monkeypatch: pytest.MonkeyPatch, rate: float, said: str | None
) -> None:
    monkeypatch.setattr(pace, "measured", lambda: rate)
    monkeypatch.setattr(tier_commands, "needs_root", lambda: None)
    (cloud,) = (tier for tier in TIERS if tier.name == "cloud")
    reason = cloud.needs()
    assert reason is None if said is None else said in str(reason)


def test_what_a_machine_lacks_at_all_is_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_commands, "needs_root", lambda: "no root")
    assert tier_commands.needs_pace() == "no root"
