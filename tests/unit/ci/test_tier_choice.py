"""Which tiers run: by name, by kind, by what they need, and by the time that is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.ci import tier as runner
from ansible_collections.groundup.cloud.ci import tier_commands, tiers
from ansible_collections.groundup.cloud.ci.long_tiers import LONG_TIERS
from ansible_collections.groundup.cloud.ci.tier import Tier, run_tiers
from ansible_collections.groundup.cloud.ci.tier_commands import MINUTES


def test_a_cloud_of_real_charts_needs_a_directory_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_commands, "needs_root", lambda: None)
    monkeypatch.delenv(tier_commands.CHARTS, raising=False)
    assert tier_commands.CHARTS in str(tier_commands.needs_charts())
    monkeypatch.setenv(tier_commands.CHARTS, str(tmp_path))
    assert tier_commands.CHARTS in str(tier_commands.needs_charts())
    (tmp_path / "nova-2026.1.0.tgz").touch()
    assert tier_commands.needs_charts() is None


@pytest.mark.parametrize("full", [0.0, 14.3])
@pytest.mark.parametrize(("limit", "said"), [(None, "abcd"), (60.0, "abcd"), (30.0, "abd"), (19.0, "ab"), (0.0, "")])
def test_a_tier_that_would_end_after_ci_s_limit_is_skipped_and_shorter_ones_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float | None, said: str, full: float
) -> None:
    """This machine takes twice as long as the known one: 10, 4, 20 and 8 minutes for 5, 2, 10 and 4.

    Of the tier whose cache is full it takes nothing, and is no faster for that.
    """
    minutes, now = {"a": 5.0, "cached": 0.0, "b": 2.0, "c": 10.0, "d": 4.0}, [0.0]
    ran: list[str] = []

    def run(tier: Tier, **_: object) -> runner.Outcome:
        ran.append(tier.name)
        now[0] += 2 * 60 * minutes[tier.name]
        return runner.Outcome(name=tier.name, verdict="passed", seconds=0.0, notes=())

    monkeypatch.setattr(runner, "run_tier", run)
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tiers_ = [Tier(name=name, commands=(), cached=name == "cached") for name in minutes]
    outcomes = run_tiers(tiers_, scratch=tmp_path, minutes={**minutes, "cached": full}, limit=limit)
    assert "".join(name for name in ran if name != "cached") == said
    assert [one.name for one in outcomes] == list(minutes), "what was skipped is in the report"
    assert all("no time" in one.notes[0] for one in outcomes if one.verdict == "skipped")


def test_the_default_tiers_have_their_minutes() -> None:
    assert {tier.name for tier in tiers.TIERS} == set(MINUTES)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], [tier.name for tier in tiers.TIERS]),
        (["--long"], [tier.name for tier in LONG_TIERS]),
        (["kernel", "lab", "--long"], ["lab", "kernel"]),
    ],
)
def test_tiers_are_chosen_by_their_kind_or_by_name(
    monkeypatch: pytest.MonkeyPatch, words: list[str], chosen: list[str]
) -> None:
    ran: list[str] = []

    def run(them: Sequence[Tier], **_: object) -> list[runner.Outcome]:
        ran.extend(tier.name for tier in them)
        return []

    monkeypatch.setattr(tiers, "LEAST_GIB", 0)
    monkeypatch.setattr("sys.argv", ["ci/tiers.py", *words])
    monkeypatch.setattr(tiers, "run_tiers", run)
    assert tiers.main() == 0
    assert ran == chosen
