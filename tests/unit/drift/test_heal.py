"""What runs unattended: what the site lists alone, in its window, beside nothing else, and once for the same."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import context
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal as restores
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift import dry_runs, heal, open_work
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import DriftRow
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal as maintenance
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import anew
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.monitoring import HEALED
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import HealPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal as upgrades
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

PLAN = site_plan(COLLECTION / "inventories/cloud/site.yml")
NIGHT = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
WANTED = HealPlan(layers=("host", "openstack"), window="02:00-05:00")


def row(layer: str, what: str = "write /etc/x", host: str = "worker-1", **more: Any) -> DriftRow:
    given = {"remedy": f"run the playbook groundup.cloud.{layer}", **more}
    return DriftRow(layer=layer, host=host, what=what, **given)


HOST, CLOUD = row("host"), row("openstack", "nova: Deployment/nova-api", "localhost")


@pytest.mark.parametrize(
    ("rows", "now", "said"),
    [
        ([HOST, CLOUD], NIGHT, ""),
        ([], NIGHT, "nothing differs"),
        ([HOST, row("host", "no route", unknown=True)], NIGHT, "not all could be asked: host worker-1"),
        ([HOST, row("kubernetes", host="w-2")], NIGHT, "not all is mended by host, openstack: kubernetes w-2"),
        ([HOST, row("plan", "plan.json", "localhost")], NIGHT, "not all is mended by host, openstack: plan localhost"),
        ([row("openstack", "Deployment/cowboy", remedy="kubectl delete")], NIGHT, "not all is mended by host, openst"),
        ([HOST], NIGHT.replace(hour=5), "05:00 UTC is outside 02:00-05:00"),
        ([HOST], NIGHT.replace(hour=1, minute=59), "01:59 UTC is outside 02:00-05:00"),
    ],
)
def test_nothing_is_mended_but_what_is_of_the_sites_layers_alone_in_its_window(
    rows: list[DriftRow], now: datetime, said: str
) -> None:
    found = heal.reason(rows, WANTED, now)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_window_may_go_over_midnight() -> None:
    begins = [heal.window_begin("22:00-02:00", NIGHT.replace(hour=hour)) for hour in (21, 22, 1, 2)]
    assert begins == [None, NIGHT.replace(hour=22), NIGHT.replace(day=29, hour=22), None]


def test_in_a_window_nothing_runs_twice_for_the_same_and_the_next_night_tells_it() -> None:
    first = heal.due([HOST], "host", None, WANTED, NIGHT)
    assert first
    assert (first.repeated, first.failed) == (0, "it was killed"), "until it has ended"
    later = NIGHT + timedelta(hours=1)
    assert heal.due([HOST], "host", first, WANTED, later) == replace(first, repeated=1), "even when it was killed"
    other = heal.due([row("host", "write /etc/y")], "host", first, WANTED, later)
    assert other
    assert (other.at, other.repeated) == (later.timestamp(), 0)
    assert heal.due([HOST], "host", other, WANTED, later) == replace(other, repeated=1), "the first is not forgotten"
    again = heal.due([HOST], "host", first, WANTED, NIGHT + timedelta(days=1))
    assert again
    assert (again.at > first.at, again.repeated) == (True, 1)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    (tmp_path / PLAN.site).mkdir()
    return tmp_path / PLAN.site


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, state: Path) -> Callable[..., tuple[list[str], str, heal.Healed]]:
    """Return a function that mends now; ``fails``: what a layer says, ``beside``: what is under way."""
    (state / "heal-clean").write_bytes(heal._wanted(PLAN))
    now = datetime.now(UTC)
    window = f"{now - timedelta(hours=2):%H:%M}-{now + timedelta(hours=2):%H:%M}"

    def run(
        *rows: DriftRow, fails: dict[str, str] | None = None, beside: list[str] | None = None, layers: Any = HEALED
    ) -> Any:
        monkeypatch.setattr(heal, "open_work", lambda *_: iter(beside or []))
        monkeypatch.setattr(dry_runs, "apply", lambda _, layer, **__: (fails or {}).get(layer, ""))
        return heal.heal(PLAN, HealPlan(layers=layers, window=window), rows, site_file="site.yml", say=print)

    return run


def test_what_was_never_applied_is_no_drift(
    ran: Callable[..., tuple[list[str], str, heal.Healed]], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that was only looked at is written, too: nothing says then that the site file changed."""
    (state / "heal-clean").unlink()
    assert ran(HOST)[:2] == ([], heal._NEVER_CLEAN)
    assert ran()[1] == "nothing differs"
    assert ran(HOST)[0] == ["host"]
    monkeypatch.setattr(sys.modules[__name__], "PLAN", replace(PLAN, site=PLAN.site, domain="other.test"))
    assert ran(CLOUD)[:2] == ([], heal._NEVER_CLEAN)


def test_layers_run_in_order_and_one_that_fails_ends_it(
    ran: Callable[..., tuple[list[str], str, heal.Healed]], state: Path
) -> None:
    done, why, record = ran(CLOUD, HOST, fails={"openstack": "it ended with 2"})
    assert (done, why) == (["host", "openstack"], "")
    assert {layer: one.failed for layer, one in record.items()} == {"host": "", "openstack": "it ended with 2"}
    assert ran(CLOUD, HOST, row("monitoring"))[0] == ["monitoring"], "the others ran in this window"
    assert ran(CLOUD, HOST)[1] == "openstack ran in this window already, for the same"
    assert (state / "heal.json").stat().st_mode & 0o777 == 0o600
    told = heal.metrics(ran(CLOUD, HOST)[2], HEALED)
    assert 'groundup_heal_failed{part="openstack"} 1\n' in told
    assert 'groundup_heal_repeated{part="host"} 1\n' in told
    assert 'groundup_heal_last_timestamp_seconds{part="hypervisor"} 0\n' in told


def test_the_first_that_fails_keeps_the_others_from_running(
    ran: Callable[..., tuple[list[str], str, heal.Healed]],
) -> None:
    assert ran(CLOUD, HOST, fails={"host": "it ended with 2"})[0] == ["host"]


def test_nothing_runs_beside_something_that_is_under_way(
    ran: Callable[..., tuple[list[str], str, heal.Healed]],
) -> None:
    assert ran(HOST, beside=["a rotation"]) == ([], "under way: a rotation", {})
    assert ran(HOST)[0] == ["host"], "it was not taken for mended"


def test_a_failure_is_over_when_nothing_of_its_layer_differs_any_more(
    ran: Callable[..., tuple[list[str], str, heal.Healed]],
) -> None:
    ran(HOST, fails={"host": "it ended with 2"})
    assert ran(HOST)[2]["host"].failed
    assert ran()[2]["host"].failed == ""


def test_what_is_left_after_a_run_is_a_failure(
    ran: Callable[..., tuple[list[str], str, heal.Healed]], state: Path
) -> None:
    done, _, record = ran(HOST, CLOUD)
    judged = heal.judged(PLAN.site, record, done, [HOST])
    assert {layer: one.failed for layer, one in judged.items()} == {"host": "it left differences", "openstack": ""}
    assert "it left differences" in (state / "heal.json").read_text()


def test_two_at_once_do_not_mend(ran: Callable[..., tuple[list[str], str, heal.Healed]], state: Path) -> None:
    with locked(state / ".heal.lock"):
        assert ran(HOST)[:2] == ([], "another run mends")


def test_a_damaged_record_lets_nothing_run_again_and_again(
    ran: Callable[..., tuple[list[str], str, heal.Healed]], state: Path
) -> None:
    (state / "heal.json").write_text("{")
    with pytest.raises(GroundupError, match="the record of unattended runs cannot be read"):
        ran(HOST)


def test_a_layer_runs_as_a_person_runs_it_and_its_words_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, Any]] = []

    def run(**given: Any) -> SimpleNamespace:
        asked.append(given)
        (tmp_path / "said").write_text("\x1b[0;31mno disk\x1b[0m\n")
        code = {"groundup.cloud.host": 0, "groundup.cloud.openstack": 2}.get(given["playbook"])
        return SimpleNamespace(rc=code, events=iter([]), stdout=(tmp_path / "said").open())

    monkeypatch.setitem(sys.modules, "ansible_runner", SimpleNamespace(run=run))
    monkeypatch.setattr(context, "CLIARGS", {"inventory": ("/a/site.yml",)})
    printed: list[str] = []
    ended = [dry_runs.apply("site.yml", layer, say=printed.append) for layer in ("host", "openstack", "monitoring")]
    assert ended == ["", "ansible-playbook ended with 2", "the run was killed"]
    assert printed[0] == "no disk\n"
    assert {one["cmdline"] for one in asked} == {""}


def _upgrade(what: upgrades.Upgraded) -> Callable[[], object]:
    return lambda: upgrades.begin(PLAN.site, source="1", target="2", versions=["1", "2"], what=what)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (lambda: None, []),
        (_upgrade(upgrades.KUBERNETES), ["an upgrade of Kubernetes to 2"]),
        (_upgrade(upgrades.OPENSTACK), ["an upgrade of OpenStack to 2"]),
        (
            lambda: restores.begin(PLAN.site, None, source="s", sha256="", parts=["etcd"], until=""),
            ["a restore of etcd"],
        ),
        (
            lambda: maintenance.keep(PLAN.site, "worker-1", maintenance.Maintenance(begun="now", boot="")),
            ["maintenance of worker-1"],
        ),
        (lambda: anew.begin(state_dir(PLAN.site)), ["a rotation"]),
        (lambda: open_store(PLAN.site).take({"keystone/admin.next": "x"}), ["a rotation"]),
    ],
)  # fmt: skip
def test_a_verb_that_has_begun_and_not_ended_is_under_way(
    state: Path, monkeypatch: pytest.MonkeyPatch, begin: Callable[[], object], said: list[str]
) -> None:
    monkeypatch.setenv("GROUNDUP_VAULT_PASSWORD_FILE", str(state.parent / "password"))
    (state.parent / "password").write_text("word of a test\n")
    open_store(PLAN.site).take({"monitoring/mail": "x"})
    maintenance.directory(PLAN.site).mkdir()
    begin()
    assert [*open_work.open_work(PLAN, str(state / "site.yml"))] == said


@pytest.mark.parametrize(("holder", "held"), [("other/boot/1:5:9", True), ("", False)])
def test_a_run_from_elsewhere_that_holds_a_lease_of_the_cluster_is_under_way(
    state: Path, monkeypatch: pytest.MonkeyPatch, holder: str, *, held: bool
) -> None:
    leases = ("groundup-kubernetes", "groundup-rollout", "groundup-resources")
    found = {"spec": {"holderIdentity": holder}}
    monkeypatch.setattr(open_work, "Api", lambda *_, **__: SimpleNamespace(find=lambda _: found))
    monkeypatch.setattr(open_work, "open_store", lambda *_, **__: SimpleNamespace(names=list))
    (state / "kubeconfig").touch()
    said = [*open_work.open_work(PLAN, str(state / "site.yml"))]
    assert said == [f"a run that holds the lease {name}: process 5 on other" for name in leases if held]


@pytest.fixture
def playing(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Start a process that looks like a playbook's, of a site file, and end it."""
    started: list[subprocess.Popen[bytes]] = []
    (tmp_path / "ansible-playbook").write_text("import time; time.sleep(60)\n")

    def start(playbook: str, *options: str) -> None:
        words = [sys.executable, str(tmp_path / "ansible-playbook"), *options, playbook]
        started.append(subprocess.Popen(words, cwd=tmp_path))

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_a_playbook_that_runs_here_on_the_site_is_under_way(playing: Callable[..., None], tmp_path: Path) -> None:
    site = tmp_path / "sites/cloud/site.yml"
    for one in (site, site.with_name("other.yml"), tmp_path / "elsewhere/site.yml"):
        one.parent.mkdir(parents=True, exist_ok=True)
        one.touch()
    for playbook in ("groundup.cloud.drain", "/srv/cloud/playbooks/erase.yml", "groundup.cloud.drift", "/srv/own.yml"):
        playing(playbook, "-i", "sites/cloud/site.yml")
    playing("groundup.cloud.retire", "-i", "no-file,", "--inventory=sites")  # directories, in which Ansible finds it
    playing("groundup.cloud.remove", "-isites/cloud")
    playing("groundup.cloud.undrain", "--forks", "9")  # ansible.cfg may name it
    playing("groundup.cloud.patch", "-i", "sites/cloud/other.yml")
    playing("groundup.cloud.rotate", "-i", "elsewhere")
    end, wanted = time.monotonic() + 10, {"drain", "erase", "drift", "retire", "remove", "undrain"}
    while (found := open_work._runs(site)) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert found == wanted
    assert "drift" in open_work._BESIDE, "its own run"
