"""The real Tempest reads what is written for it, and tests the image's own Keystone."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import openstack
import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import ERRORS
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import missing
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.local_environment import (
    environment_artifact,
    local_environment,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import program, runs, settings, work
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.explained import Explained
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.report import of_document
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.suites import SUITES
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.target import Target, of_plan
from ansible_collections.groundup.cloud.tests.unit.tempest.test_settings import ASKED, GROUND, OBJECTS, ROOT

from .conftest import Image

pytestmark = pytest.mark.long  # its environment is for sites that test themselves: `make test` does not build it
_PASSWORD = "admins-words"
LIST = ROOT / "tests/e2e/tempest/cloud.txt"
ALL = frozenset({"keystone", "neutron"})
OPTIONS = work.Options(suite="api", workers=2, image=Path("guest"), user="guest", memory_mb=128, disk_gb=1)
_RUN = """
cd /tmp
printf '[database]\\nconnection = sqlite:////tmp/db\\n[fernet_tokens]\\nkey_repository = /tmp/keys\\n' \\
  > /etc/keystone/keystone.conf
mkdir -m 700 keys
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
keystone-manage db_sync
keystone-manage fernet_setup
keystone-manage bootstrap --bootstrap-password "$PASSWORD" --bootstrap-region-id one --bootstrap-public-url "$URL" \\
  --bootstrap-internal-url "$URL"
exec uwsgi --http-socket 127.0.0.1:"$PORT" --need-app --master --processes 2 --buffer-size 65535 --disable-logging \\
  --add-header "Connection: close" --module keystone.wsgi.api:application
"""


@pytest.fixture(scope="module")
def home() -> Path:
    if missing(environment_artifact("tempest", platform.freedesktop_os_release())):
        pytest.skip("tempest is not built on this machine")
    return local_environment("tempest")


@pytest.fixture(scope="module")
def keystone(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The image's Keystone on a port of this machine's loopback: its administrator's connection."""
    place = tmp_path_factory.mktemp("keystone")
    place.chmod(0o777)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, openstack_image = f"http://127.0.0.1:{port}/v3", image("openstack")
    command = openstack_image.command(["bash", "-euc", _RUN], uid=42424, mounts={"/etc/keystone": place})
    env = {"HOME": "/tmp", **openstack_image.env, "URL": url, "PORT": str(port), "PASSWORD": _PASSWORD}  # noqa: S108
    with (place / "log").open("wb") as log, subprocess.Popen(
        [word for word in command if word != "--net"], env=env, stdout=log, stderr=log
    ) as process:  # fmt: skip
        try:
            cloud = openstack.connect(
                auth_url=url, username="admin", password=_PASSWORD, project_name="admin", user_domain_name="Default",
                project_domain_name="Default", region_name="one", load_yaml_config=False, load_envvars=False,
            )  # fmt: skip
            _answers(cloud, process, place / "log")
            yield cloud
        finally:
            process.kill()  # uwsgi reloads at SIGTERM; all in its namespace ends with it


def _answers(cloud: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    def silent() -> str:
        assert process.poll() is None, log.read_text()
        try:
            cloud.authorize()
        except ERRORS as error:
            return str(error)
        return ""

    assert not wait_until(silent, timeout=600.0, pause=0.5), log.read_text()


def of_keystone(cloud: Any) -> Target:
    return Target(
        name="here", region="one", auth_url=str(cloud.session.auth.auth_url), ca=None,
        services=frozenset({"keystone"}), hypervisors=0,
    )  # fmt: skip


def tested(cloud: Any, home: Path, place: Path, **given: Any) -> tuple[Any, Path, list[str]]:
    image = place / "guest.qcow2"
    image.touch()
    options = replace(OPTIONS, image=image, **given)
    said: list[str] = []
    outcome, directory = work.run_tests(
        cloud, of_keystone(cloud), options, place=place / "tempest", home=home, say=said.append
    )
    return outcome, directory, said


def entries(cloud: Any) -> tuple[list[str], list[str]]:
    return (sorted(str(one["name"]) for one in cloud.identity.projects()),
            sorted(str(one["name"]) for one in cloud.identity.users()))  # fmt: skip


def test_every_option_that_is_written_is_known_to_tempest_and_fits_it(home: Path, tmp_path: Path) -> None:
    target = of_plan(site_plan(ROOT / OBJECTS))
    for suite in SUITES.values():
        found = settings.sections(target, ASKED, GROUND, suite, directory=tmp_path)
        (tmp_path / program.CONF).write_text(settings.text(found))
        script = Path(__file__).with_name("tempest_options.py")
        command = [home / "bin/python", script, tmp_path / program.CONF]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout.splitlines()[-1]) == []


def test_all_tests_load_and_every_suite_has_some(home: Path, tmp_path: Path) -> None:
    target = of_plan(site_plan(ROOT / OBJECTS))
    target = replace(target, services=target.services - {"heat"})  # its plugin asks Keystone when tests are listed
    found = settings.sections(target, ASKED, GROUND, SUITES["smoke"], directory=tmp_path)
    (tmp_path / program.CONF).write_text(settings.text(found))
    names = program.Program(home=home, directory=tmp_path).tests()
    assert len(names) > 6000
    numbers = {name: len(suite.of(names)) for name, suite in SUITES.items()}
    assert numbers["smoke"] > 150
    assert numbers["api"] > 2500
    assert numbers["rbac"] > 2000
    assert numbers["scenario"] > 300
    listed = work.choose(names, SUITES["smoke"], replace(OPTIONS, tests=LIST), Explained(reasons=()), ALL)[0]
    assert len(listed) == 30


def test_a_cloud_is_tested_and_left_as_it_was(keystone: Any, home: Path, tmp_path: Path) -> None:
    before = entries(keystone)
    outcome, directory, said = tested(
        keystone, home, tmp_path, regex=r"^tempest\.api\.identity\.(v3|admin\.v3\.test_pro)"
    )
    assert outcome.count("failed") == 0, outcome.results
    assert outcome.count("passed") > 20
    assert not outcome.broken
    assert entries(keystone) == before
    assert sorted(path.name for path in directory.iterdir() if path.suffix) == sorted(
        [".stestr.conf", runs.JUNIT, runs.RESULTS, program.LOG, program.SUBUNIT, program.PROBLEMS, "tests.txt"]
    )
    assert "[tempest] deleting what the tests left" in said
    log = (directory / program.LOG).read_text()
    assert runs.SuiteRun(directory=directory, prefix="x").made("project"), "the form of Tempest's log is another"
    assert "admin_password" not in log


def test_a_trend_without_instances_is_refused_in_the_words_of_the_real_rally(
    keystone: Any, home: Path, tmp_path: Path
) -> None:
    before = entries(keystone)
    with pytest.raises(GroundupError, match=r"(?s)rally .* task start .* failed.*nova"):
        tested(keystone, home, tmp_path, suite="trend")
    assert entries(keystone) == before
    assert not list(tmp_path.rglob("cloud.json"))


def test_a_run_that_is_stopped_keeps_the_results_of_what_has_ended(
    keystone: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = entries(keystone)
    monkeypatch.setattr(work, "SILENCE", 0.0)
    follow = work._follow

    def stopped(program: Any, chosen: Any, workers: int, say: Any, lines: list[Any]) -> None:
        def heard(text: str) -> None:
            say(text)
            if lines:
                raise KeyboardInterrupt("SIGINT")

        follow(program, chosen, workers, heard, lines)

    monkeypatch.setattr(work, "_follow", stopped)
    with pytest.raises(KeyboardInterrupt):
        tested(keystone, home, tmp_path, regex=r"^tempest\.api\.identity\.v3")
    assert entries(keystone) == before
    outcome = of_document(runs.last(tmp_path / "tempest"))
    assert 0 < len(outcome.results) < 5
    assert set(outcome.left_out.values()) == {"the run was stopped before"}
    assert len(outcome.left_out) > 5


def test_what_a_killed_run_left_is_deleted_by_the_next_and_nothing_else(
    keystone: Any, home: Path, tmp_path: Path
) -> None:
    before = entries(keystone)
    kept = keystone.identity.create_project(name="tempest-SomebodyElses-1", domain_id="default")
    old = tmp_path / "tempest/2026-01-01T000000Z"
    old.mkdir(parents=True)
    (old / "running").write_text("gu0badcafe")
    project = keystone.identity.create_project(name="tempest-Test-2", domain_id="default")
    user = keystone.identity.create_user(name="tempest-Test-3", domain_id="default", password=_PASSWORD)
    keystone.identity.create_user(name="gu0badcafe-admin", domain_id="default", password=_PASSWORD)
    lines = []
    for kind, one in (("project", project), ("user", user)):
        lines += [f"2026-01-01 00:00:00.000 7 INFO t [] Request (A:b): 201 POST http://x/v3/{kind}s 0.1s",
                  "2026-01-01 00:00:00.000 7 DEBUG t [] Request - Headers: {}",
                  f'        Body: {{"{kind}": {{"id": "{one["id"]}", "name": "{one["name"]}"}}}}']  # fmt: skip
    (old / program.LOG).write_text("\n".join(lines) + "\n")
    outcome, _, said = tested(keystone, home, tmp_path, regex="test_tokens")
    assert "[tempest] deleting what the run 2026-01-01T000000Z left" in said
    assert not outcome.broken, outcome.not_deleted
    assert not (old / "running").exists()
    keystone.identity.delete_project(kept)
    assert entries(keystone) == before
