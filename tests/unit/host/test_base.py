"""What every module and the controller share: waits, programs and locks that end, and say why."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import run_step
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until


def test_a_wait_ends_as_soon_as_nothing_is_missing(clock: list[float]) -> None:
    answers = ["not there", "not ready", ""]
    assert wait_until(lambda: answers.pop(0), timeout=10, pause=1) == ""
    assert clock == [2.0]


def test_a_wait_that_is_over_returns_the_last_reason_after_one_more_question(clock: list[float]) -> None:
    assert wait_until(lambda: f"at {clock[0]:g} s", timeout=3, pause=2) == "at 4 s"


def test_a_program_that_fails_is_told_with_its_last_words_and_without_colour() -> None:
    script = "import sys; print('\\x1b[31mred\\x1b[0m', file=sys.stderr); sys.exit(sys.stdin.read())"
    with pytest.raises(GroundupError, match=r"failed with exit code 1: red\n    given") as error:
        run([sys.executable, "-c", script], stdin="given", why="the test needs it", remedy="none")
    assert "why:    the test needs it" in str(error.value)


@pytest.mark.parametrize(
    ("argv", "said"), [(["/no/such/program"], "no such program"), (["sleep", "60"], "did not end within 0.1 s")]
)
def test_a_program_that_is_missing_or_hangs_is_told_so(argv: list[str], said: str) -> None:
    with pytest.raises(GroundupError, match=said):
        run(argv, timeout=0.1)


def test_a_lock_that_is_not_released_is_given_up_and_one_that_is_can_be_had(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path), pytest.raises(TimeoutError), locked(path, timeout=0):
        pytest.fail("two held it")
    with locked(path, timeout=0):
        pass


def test_the_lock_of_a_file_that_was_removed_meanwhile_is_not_taken_for_that_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        path.unlink()
        with locked(path, timeout=0), pytest.raises(TimeoutError), locked(path, timeout=0):
            pytest.fail("two held it")


def test_what_a_module_makes_can_be_read_by_services_whatever_the_logins_umask(tmp_path: Path) -> None:
    def work(_: Changes, __: dict[str, Any]) -> None:
        (tmp_path / "srv").mkdir(mode=0o755)

    before = os.umask(0o077)
    try:
        with patch_module_args({"step": "make"}), pytest.raises(SystemExit):
            run_step({"make": work})
    finally:
        os.umask(before)
    assert (tmp_path / "srv").stat().st_mode & 0o777 == 0o755


def test_a_program_of_the_site_knows_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTP_PROXY", "all_proxy", "no_proxy"):
        monkeypatch.setenv(name, "http://proxy.example.org:3128")
    said = run([sys.executable, "-c", "import os; print([one for one in os.environ if 'proxy' in one.lower()])"])
    assert said == "[]\n"


@pytest.mark.parametrize("detached", [True, False])
def test_a_program_that_is_not_detached_hears_what_ends_the_run(detached: bool) -> None:
    group = int(run([sys.executable, "-c", "import os; print(os.getpgid(0))"], detached=detached))
    assert (group == os.getpgid(0)) is not detached
