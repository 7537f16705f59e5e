"""What the page about Kubernetes' conformance tests says is what ginkgo reported."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.e2e.conformance import report
from ansible_collections.groundup.cloud.tests.e2e.conformance.report import LeftOut

RULES = LeftOut(labels={"Serial": "it wants the cluster alone"}, names={"perl": "no image"})


def spec(leaf: str, state: str, *labels: str, message: str = "") -> dict[str, Any]:
    """One test, as ginkgo's JSON report has it."""
    return {
        "ContainerHierarchyTexts": ["[sig-node] Pods"],
        "ContainerHierarchyLabels": [["sig-node"]],
        "LeafNodeType": "It",
        "LeafNodeText": leaf,
        "LeafNodeLabels": ["Conformance", *labels],
        "State": state,
        **({"Failure": {"Message": message}} if message else {}),
    }


def write(path: Path, *specs: dict[str, Any]) -> Path:
    suite = {"SpecReports": [*specs, {"LeafNodeType": "BeforeSuite", "State": "passed"}]}
    path.write_text(json.dumps([suite]))
    return path


def test_only_what_has_a_reason_of_ours_is_left_out_and_all_else_that_did_not_pass_has_failed(tmp_path: Path) -> None:
    other = {**spec("is no conformance test", "failed"), "LeafNodeLabels": ["Feature"]}
    found = report.read(
        write(
            tmp_path / "report.json",
            spec("starts", "passed"),
            spec("stops", "failed", message="it did not"),
            spec("waits", "timedout"),
            spec("goes alone", "skipped", "Serial"),
            spec("needs perl", "skipped"),
            spec("skips itself", "skipped", message="needs three nodes"),
            other,
        ),
        RULES,
    )
    assert {result.name.removeprefix("[sig-node] Pods "): (result.verdict, result.reason) for result in found} == {
        "starts": ("passed", ""),
        "stops": ("failed", "it did not"),
        "waits": ("failed", "timedout, and no one says why"),
        "goes alone": ("left out", "it wants the cluster alone"),
        "needs perl": ("left out", "no image"),
        "skips itself": ("failed", "needs three nodes"),
    }
    assert RULES.filter == "Conformance && !Serial"


def test_a_test_that_passes_by_itself_has_passed_and_the_page_says_so(tmp_path: Path) -> None:
    write(tmp_path / report.FIRST, spec("a", "passed"), spec("b", "failed"), spec("c", "failed", message="x|y\nmore"))
    write(tmp_path / report.ALONE, spec("a", "skipped"), spec("b", "passed"), spec("c", "failed"))
    found = report.results(tmp_path, RULES)
    assert [(result.verdict, result.alone) for result in found] == [
        ("passed", False),
        ("passed", True),
        ("failed", False),
    ]
    text = report.section(found, version="1.2.3", began=datetime(2026, 1, 2, tzinfo=UTC), minutes=41.6, at_once=2)
    assert (
        "Kubernetes 1.2.3, 2026-01-02: 3 conformance tests, **2 passed, 1 failed**, 0 left out; 42 minutes, 2 at a time"
        in text
    )
    assert "| sig-node | 2 | 1 | 0 |" in text
    assert r"| \[sig-node\] Pods c | x\|y |" in text
    assert "passed by itself, failed beside others |\n|---|\n| \\[sig-node\\] Pods b |" in text


def test_results_take_the_place_of_former_ones_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{report.BEGIN}\nold\n{report.END}\n\nend\n")
    for text in ("first", "second"):
        report.write(page, text)
    assert page.read_text() == f"# Title\n\n{report.BEGIN}\n\nsecond\n\n{report.END}\n\nend\n"
    assert report.BEGIN in report.PAGE.read_text()


def test_every_reason_of_the_list_is_given() -> None:
    rules = report.left_out()
    assert all({**rules.labels, **rules.names}.values())
    assert rules.reason("[sig-node] Pods start", ["Conformance", "Serial"]) == rules.labels["Serial"]
    assert rules.reason("[sig-node] Pods start", ["Conformance"]) is None
