"""What a chart of ours listens on exists on every kernel: one with ipv6.disable=1 has no ::."""

from __future__ import annotations

import re
from pathlib import Path

CHARTS = Path(__file__).resolve().parents[3] / "charts"
ANY = re.compile(r"[\"'\[\s=]::[\"'\]\s]")


def test_no_chart_listens_on_the_unspecified_address_of_ipv6() -> None:
    found = [
        f"{path.relative_to(CHARTS)}: {line.strip()}"
        for path in sorted(CHARTS.rglob("*"))
        if path.is_file() and path.suffix in (".yaml", ".tpl", ".conf", ".py", ".sh")
        for line in path.read_text(encoding="utf-8").splitlines()
        if ANY.search(line.partition("# ")[0])
    ]
    assert found == []
