"""A benchmark is run as a script, and so is the first place Python looks for modules of its name."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "ci/bench"


def test_no_benchmark_has_the_name_of_a_library() -> None:
    names = {path.stem for path in BENCH.glob("*.py")}
    assert names, "there are benchmarks"
    assert names & {*sys.stdlib_module_names, *packages_distributions()} == set()


def test_make_bench_runs_benchmarks_that_are_there() -> None:
    (names,) = re.findall(r"for bench in (.+?);", (ROOT / "Makefile").read_text())
    assert [name for name in names.split() if not (BENCH / f"{name}.py").is_file()] == []
