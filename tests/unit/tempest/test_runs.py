"""Runs: one at a time, what they made is known after a kill, and no password stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import program, runs

OURS, OTHERS, ADMINS, USER = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
URL = "https://identity.cloud.test/v3"


def entry(process: int, text: str, level: str = "INFO") -> str:
    return f"2026-11-28 10:44:22.616 {process} {level} tempest.lib.common.rest_client [req-1 ] {text}\n"


def answer(process: int, body: str) -> str:
    text = 'Request - Headers: {}\n        Body: {"project": {"name": "x", "domain_id": "default"}}\n'
    return entry(process, f"{text}    Response - Headers: {{'status': '201'}}\n        Body: {body}", "DEBUG")


def body(kind: str, identifier: str) -> str:
    return f'{{"{kind}": {{"domain_id": "default", "id": "{identifier}", "links": {{"self": "u"}}, "name": "t"}}}}'


LOG = "".join(
    [
        entry(11, f"Request (A:setUpClass): 200 GET {URL}/projects/{ADMINS} 0.1s"), answer(11, body("project", ADMINS)),
        entry(11, f"Request (A:setUpClass): 201 POST {URL}/projects 0.2s"),
        entry(12, f"Request (B:setUpClass): 200 GET {URL}/projects/{OTHERS} 0.1s"),  # of another worker, in between
        answer(12, body("project", OTHERS)), answer(11, body("project", OURS)),
        entry(11, f"Request (A:setUpClass): 201 POST {URL}/users 0.2s"), answer(11, body("user", USER)),
        entry(11, f"Request (A:setUpClass): 409 POST {URL}/projects 0.2s"), answer(11, body("project", OTHERS)),
        entry(12, f"Request (B:test_tag): 201 PUT {URL}/projects/{ADMINS}/tags/x 0.1s"),
    ]
)  # fmt: skip


def test_only_what_the_tests_made_is_theirs(tmp_path: Path) -> None:
    run = runs.SuiteRun(directory=tmp_path, prefix="gu1")
    assert run.made("project") == []
    (tmp_path / program.LOG).write_text(LOG)
    assert run.made("project") == [OURS]
    assert run.made("user") == [USER]


def test_a_run_keeps_its_results_and_loses_its_configuration(tmp_path: Path) -> None:
    with runs.begun(tmp_path / "tempest") as run:
        (run.directory / program.CONF).write_text("admin_password = x")
        (run.directory / runs.RESULTS).write_text('{"suite": "smoke"}')
        assert run.directory.stat().st_mode & 0o077 == 0
    assert not (run.directory / program.CONF).exists()
    assert runs.last(tmp_path / "tempest") == {"suite": "smoke"}


def test_a_killed_run_is_found_with_its_prefix_until_it_is_cleaned(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), runs.begun(tmp_path) as old:
        raise KeyboardInterrupt
    old.directory.rename(tmp_path / "2026-01-01T000000Z")
    with runs.begun(tmp_path) as run:
        (found,) = runs.killed(tmp_path, but=run)
        assert found.prefix == old.prefix != run.prefix
        runs.cleaned(found)
        assert runs.killed(tmp_path, but=run) == []


def test_five_ended_runs_are_kept_and_every_one_that_left_something(tmp_path: Path) -> None:
    for day in range(1, 10):
        (tmp_path / f"2026-01-0{day}T000000Z").mkdir()
    (tmp_path / "2026-01-01T000000Z/running").write_text("gu1")
    with runs.begun(tmp_path) as run:
        runs.cleaned(run)
    kept = sorted(path.name for path in tmp_path.glob("2*/"))
    assert kept == ["2026-01-01T000000Z", *(f"2026-01-0{day}T000000Z" for day in range(6, 10)), run.directory.name]


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    with runs.begun(tmp_path), pytest.raises(GroundupError, match="under way"), runs.begun(tmp_path):
        pass


def test_a_site_and_another_cloud_of_the_same_name_have_their_own_places() -> None:
    assert runs.home("a", site=True) == state_dir("a") / "tempest"
    assert runs.home("a", site=False) != runs.home("a", site=True)


def test_without_results_the_error_says_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"groundup\.cloud\.tempest"):
        runs.last(tmp_path)
