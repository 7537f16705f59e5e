"""Bounds of CPU seconds hold on a slower machine: by its processor and by its memory, beside the run that is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.ci.bench import speed


def test_the_largest_factor_that_was_measured_beside_a_run_counts(tmp_path: Path) -> None:
    record = tmp_path / "speed"
    record.write_text("1.0\n1.75\n1.25\n")
    assert speed.allowance(record) == 1.75


def test_without_a_record_the_machine_is_measured_now_and_a_record_that_should_be_there_is_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(speed, "slower", lambda: 3.0)
    assert speed.allowance() == 3.0
    with pytest.raises(FileNotFoundError):
        speed.allowance(tmp_path / "none")


@pytest.mark.parametrize(("work", "forks", "factor"), [(1, 1, 1), (0.5, 0.5, 1), (2, 2, 2), (1, 3, 2), (3, 1, 2)])
def test_processor_and_memory_count_half_each_and_a_faster_machine_gets_no_smaller_bound(
    monkeypatch: pytest.MonkeyPatch, work: float, forks: float, factor: float
) -> None:
    monkeypatch.setattr(speed, "_work", lambda: work * speed.REFERENCE)
    monkeypatch.setattr(speed, "_forks", lambda: forks * speed.REFERENCE_FORKS)
    assert speed.slower() == pytest.approx(factor)


def test_both_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "PAGES", 16)
    assert min(speed._work(), speed._forks()) > 0
