"""What a run says of each test, and what counts against a cloud."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import report, work
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.results import last_line, results
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.suites import SUITES, area

from .runs_of import COMPUTE, NETWORK, SHIPPED, known, line, outcome

ONE, TWO = f"{COMPUTE}.test_one[id-1,smoke]", f"{COMPUTE}.test_two[id-2]"
DOWNLOAD = "tempest.api.image.test_import.ImportTest.test_web_download[id-3]"
TRUNK = f"{NETWORK}.test_show[id-4]"


def test_a_class_that_is_skipped_or_fails_before_its_tests_says_so_of_each_of_them(tmp_path: Path) -> None:
    found = results(
        [ONE, TWO, TRUNK],
        [line(f"setUpClass ({COMPUTE})", "skip", "Qux is not available"),
         line(f"setUpClass ({NETWORK})", "fail", "Traceback\n  ServerFault: 500")],
        known(tmp_path),
    )  # fmt: skip
    assert [(one.verdict, one.why, one.bad) for one in found] == [
        ("skipped", "the site has no Qux", False), ("skipped", "the site has no Qux", False), ("failed", "", True),
    ]  # fmt: skip


def test_a_test_without_a_result_has_failed(tmp_path: Path) -> None:
    """A worker that dies reports nothing."""
    first, second = results([ONE, TWO], [line(ONE), line(TWO, "inprogress")], known(tmp_path))
    assert first.verdict == "passed"
    assert (second.verdict, second.said) == ("failed", "it ended as inprogress")
    (silent,) = results([ONE], [], known(tmp_path))
    assert (silent.bad, silent.said) == (True, "it was chosen and did not run")


def test_a_clean_up_that_fails_is_a_failure_of_its_own(tmp_path: Path) -> None:
    found = results([ONE], [line(ONE), line(f"tearDownClass ({COMPUTE})", "fail", "Conflict")], known(tmp_path))
    assert [one.verdict for one in found] == ["passed", "failed"]
    assert found[1].bad


def test_an_explained_failure_does_not_count_and_another_failure_of_the_same_test_does(tmp_path: Path) -> None:
    entries = known(tmp_path)
    (explained,) = results([DOWNLOAD], [line(DOWNLOAD, "fail", "it timed out")], entries)
    assert (explained.bad, explained.why, explained.option) == (False, "no internet here", "image.http_image")
    (other,) = results([DOWNLOAD], [line(DOWNLOAD, "fail", "500 Internal Server Error")], entries)
    assert other.bad


def test_an_entry_whose_test_passes_again_is_named(tmp_path: Path) -> None:
    assert [one.why for one in outcome(tmp_path, [DOWNLOAD], line(DOWNLOAD)).mended] == ["no internet here"]
    assert not outcome(tmp_path, [DOWNLOAD], line(DOWNLOAD, "fail", "timed out")).mended


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("skip: []", "it has skip"),
        ("failed: [{test: a}]", "needs test and why"),
        ("failed: [{test: '(', why: b}]", "unterminated|missing"),
        ("failed: [{test: a, why: b, reason: c}]", "has reason"),
        ("[]", "."),
        ("", "."),
    ],
)
def test_a_list_that_is_not_in_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(GroundupError, match=said) as caught:
        known(tmp_path, text)
    assert "explained.yml" in str(caught.value)


def test_the_shipped_list_is_in_form_and_gives_a_reason_for_each_entry(tmp_path: Path) -> None:
    entries = known(tmp_path, SHIPPED.read_text())
    assert entries.reasons
    assert all(one.why for one in entries.reasons)


def test_the_table_counts_by_service_and_names_what_counts(tmp_path: Path) -> None:
    found = outcome(
        tmp_path, [ONE, TWO, DOWNLOAD, TRUNK], line(ONE), line(TWO, "fail", "Traceback\n  Conflict: in use\n"),
        line(DOWNLOAD, "fail", "timed out"), line(TRUNK, "skip", "trunk extension not enabled."),
    )  # fmt: skip
    assert report.rows(found) == [
        ("compute", "1", "1", "0", "0", "0"), ("image", "0", "0", "1", "0", "0"),
        ("neutron (plugin)", "0", "0", "0", "1", "1"), ("all", "1", "1", "1", "1", "1"),
    ]  # fmt: skip
    text = report.table(found)
    assert f"FAILED  {TWO}\n    Conflict: in use" in text
    assert f"explained  {DOWNLOAD}\n    timed out: no internet here (image.http_image)" in text
    assert "skipped    1  trunk extension not enabled." in text
    assert text.endswith("cloud, api: 1 passed, 1 failed (1 more explained), 1 skipped, 1 left out; 02:10")
    assert found.broken


def test_explained_failures_alone_are_a_success_and_what_stays_in_the_cloud_is_none(tmp_path: Path) -> None:
    lines = line(ONE), line(DOWNLOAD, "fail", "timed out")
    assert not outcome(tmp_path, [ONE, DOWNLOAD], *lines).broken
    left = outcome(tmp_path, [ONE, DOWNLOAD], *lines, left=("volume v: in use",))
    assert left.broken
    assert "not deleted: volume v: in use" in report.table(left)


def test_a_document_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    found = outcome(tmp_path, [ONE, DOWNLOAD], line(ONE), line(DOWNLOAD, "fail", "timed out"))
    again = report.of_document(json.loads(report.text(found)))
    assert again.document() == {**found.document(), "not_deleted": []}
    assert json.loads(report.text(found))["broken"] is False


def test_junit_has_each_test_and_only_what_counts_as_a_failure(tmp_path: Path) -> None:
    found = outcome(
        tmp_path, [ONE, TWO, DOWNLOAD], line(ONE), line(TWO, "fail", "bad \x00 <byte>"),
        line(DOWNLOAD, "fail", "timed out"),
    )  # fmt: skip
    suite = ET.fromstring(report.junit(found))  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    first, second, third = suite
    assert (first.get("classname"), first.get("name")) == (COMPUTE, "test_one[id-1,smoke]")
    assert second.find("failure") is not None
    assert third.find("skipped") is not None


def test_a_page_has_reasons_and_options(tmp_path: Path) -> None:
    found = outcome(tmp_path, [ONE, DOWNLOAD, TRUNK], line(ONE), line(DOWNLOAD, "fail", "timed out"),
                    line(TRUNK, "skip", "a|b"))  # fmt: skip
    page = report.section(found)
    assert "**1 passed, 0 failed**, 1 skipped, 1 left out; 2 minutes, 4 at a time. tempest 47.0.0." in page
    assert r"test\_web\_download\[id-3\] | no internet here | image.http\_image |" in page
    assert r"| a\|b | 1 |  |  |" in page
    assert r".TrunkTest.test\_all | it stops every agent |" in page
    assert "#### Failed\n" not in page


def test_areas_are_services_and_plugins() -> None:
    assert area("tempest.api.volume.test_a.B.test_c") == "block storage"
    assert area("tempest.serial_tests.api.compute.admin.test_a.B.test_c") == "compute"
    assert area("tempest.scenario.test_a.B.test_c") == "scenario"
    assert area("keystone_tempest_plugin.tests.rbac.v3.test_a.B.test_c") == "keystone (plugin)"


def test_the_last_line_of_a_failure_is_what_it_says() -> None:
    assert last_line("Traceback\n  File x\nConflict: in use\nDetails: {'a': 1}\n\n") == "Conflict: in use"
    assert last_line("") == "no reason given"


NAMES = [ONE, TWO, DOWNLOAD, TRUNK, f"{NETWORK}.test_all[id-5]", "tempest.api.compute.A.test_b[id-6,slow]"]


ALL = frozenset({"keystone", "neutron"})


def options(**given: object) -> work.Options:
    base = work.Options(suite="api", workers=1, image=Path("i"), user="u", memory_mb=1, disk_gb=1)
    return replace(base, **given)  # type: ignore[arg-type]


def test_a_suite_is_chosen_without_what_is_left_out_and_by_a_regular_expression(tmp_path: Path) -> None:
    chosen, out = work.choose(NAMES, SUITES["api"], options(), known(tmp_path), ALL)
    assert chosen == [ONE, TWO, DOWNLOAD, TRUNK]
    assert out == {f"{NETWORK}.test_all[id-5]": "it stops every agent"}
    assert work.choose(NAMES, SUITES["smoke"], options(), known(tmp_path), ALL)[0] == [ONE]
    assert work.choose(NAMES, SUITES["api"], options(regex="image"), known(tmp_path), ALL)[0] == [DOWNLOAD]


def test_a_plugin_s_tests_are_left_out_where_its_service_is_not(tmp_path: Path) -> None:
    chosen, out = work.choose(NAMES, SUITES["api"], options(), known(tmp_path), frozenset({"keystone"}))
    assert chosen == [ONE, TWO, DOWNLOAD]
    assert out[TRUNK] == "there is no neutron"


def test_a_list_is_taken_as_it_is_and_a_name_that_tempest_does_not_know_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "tests.txt"
    listed.write_text(f"# cheap\n{TWO.partition('[')[0]}\n{TRUNK}\n")
    assert work.choose(NAMES, SUITES["smoke"], options(tests=listed), known(tmp_path), ALL)[0] == [TWO, TRUNK]
    listed.write_text(f"{TWO}\ntempest.gone.test_a\n")
    with pytest.raises(GroundupError, match=r"no test tempest\.gone\.test_a"):
        work.choose(NAMES, SUITES["smoke"], options(tests=listed), known(tmp_path), ALL)


def test_a_choice_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="no test is chosen"):
        work.choose(NAMES, SUITES["api"], options(regex="nothing"), known(tmp_path), ALL)
