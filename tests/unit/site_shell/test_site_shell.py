"""The shell that knows a site: what it sets, what it shows of the machine, and what it says when it cannot open."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_shell
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.site_names import entering, hosts_text
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of this user: state, configuration and temporary files are the test's."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for variable in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(variable)
    return tmp_path


@pytest.fixture
def plan() -> Plan:
    """The plan of the lab."""
    return make_plan(load_site(LAB))


def test_the_operators_proxy_does_not_get_requests_to_the_site(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(load_site(site_without_openstack(home)))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("no_proxy", "intranet")
    found = site_shell.environment(plan)
    for name in ("no_proxy", "NO_PROXY"):
        assert {"intranet", f".{plan.domain}", plan.edge.address} <= set(found[name].split(","))
    assert "HTTPS_PROXY" not in found, "other programs of this shell may need it"


@pytest.fixture
def entered(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.CompletedProcess[str]]]:
    """What the command did that this process would have become; helm and kubectl are two empty directories."""
    done: list[subprocess.CompletedProcess[str]] = []
    before = dict(os.environ)

    def become(program: str, arguments: list[str]) -> int:
        assert program == arguments[0]
        done.append(subprocess.run(arguments, capture_output=True, text=True, check=False))
        return done[-1].returncode

    monkeypatch.setattr(os, "execvp", become)

    def tool(name: str, *, progress: Callable[[str], None]) -> Path:
        progress(f"[supply] {name}: compiling")
        return home / "tools" / name / name

    monkeypatch.setattr(site_shell, "tool", tool)
    yield done
    os.environ.clear()
    os.environ.update(before)


def site_without_openstack(directory: Path) -> Path:
    """Return a site file like the lab's that has no service of OpenStack."""
    data: dict[str, Any] = yaml.safe_load(LAB.read_text())
    data["openstack"]["services"] = []
    (directory / "site.yml").write_text(yaml.safe_dump(data))
    return directory / "site.yml"


def test_the_sites_names_come_behind_the_machines_own(plan: Plan) -> None:
    lines = hosts_text("127.0.0.1 localhost\n\n\n", plan.host.names, "lab").splitlines()
    assert lines[:3] == ["127.0.0.1 localhost", "", "# site lab"]
    assert lines[3:] == [f"{address} {name}" for name, address in sorted(plan.host.names.items())]
    assert f"{plan.edge.address} identity.lab.test" in lines


def test_variables_point_at_the_sites_cloud_and_trust_its_authority(plan: Plan, home: Path) -> None:
    store = open_store("lab")
    store.ensure(["keystone/admin"])
    found = site_shell.environment(plan)
    assert (found["OS_CLOUD"], found["OS_CLIENT_CONFIG_FILE"]) == ("lab", str(home / "state/lab/clouds.yaml"))
    cloud = yaml.safe_load(Path(found["OS_CLIENT_CONFIG_FILE"]).read_text())["clouds"]["lab"]
    assert cloud["auth"]["auth_url"].startswith("https://identity.lab.test")
    assert cloud["auth"]["password"] == store.get("keystone/admin")
    assert cloud["interface"] == "public"
    assert cloud["cacert"] == found["REQUESTS_CA_BUNDLE"] == str(home / "state/lab/ca.crt")
    assert found["KUBECONFIG"] == str(home / "state/lab/kubeconfig")
    assert store.get("keystone/admin") not in found.values(), "who reads the environment reads the password"


def test_a_site_without_keystone_has_a_shell_for_its_cluster(home: Path) -> None:
    plan = make_plan(load_site(site_without_openstack(home)))
    assert site_shell.environment(plan) == {"KUBECONFIG": str(home / "state/lab/kubeconfig")}


@pytest.mark.root
def test_a_command_sees_the_names_and_the_tools_and_the_machine_does_not(
    plan: Plan, home: Path, entered: list[subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store("lab").ensure(["keystone/admin"])
    monkeypatch.setenv("OS_AUTH_URL", "https://another.test")
    machine = Path("/etc/hosts").read_bytes()
    script = 'cat /etc/hosts; echo "path=$PATH cloud=$OS_CLOUD$OS_AUTH_URL $1"; exit 7'
    assert site_shell.main([str(LAB), "sh", "-c", script, "sh", "an argument"]) == 7
    (done,) = entered
    assert done.stdout.startswith(hosts_text(machine.decode(), plan.host.names, "lab"))
    assert f"path={home}/tools/helm:{home}/tools/kubectl:" in done.stdout
    assert "cloud=lab an argument" in done.stdout
    assert Path("/etc/hosts").read_bytes() == machine
    assert not list(home.glob("groundup-hosts-*"))


@pytest.mark.root
def test_in_a_shell_for_a_site_a_command_gets_names_of_its_own(home: Path) -> None:
    """The shell's file is removed at once, and nothing can be mounted over a removed file."""
    shell, own = home / "shell", home / "own"
    shell.write_text("192.0.2.1 of-the-shell\n")
    own.write_text("192.0.2.2 of-the-command\n")
    machine = Path("/etc/hosts").read_bytes()
    done = subprocess.run(
        [*entering(shell, once=True), *entering(own), "cat", "/etc/hosts"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, shell.exists()) == (own.read_text(), False)
    assert Path("/etc/hosts").read_bytes() == machine


@pytest.mark.root
def test_without_a_command_it_is_the_users_shell_with_a_word_of_help(
    entered: list[subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_store("lab").ensure(["keystone/admin"])
    monkeypatch.setenv("SHELL", "/bin/true")
    assert site_shell.main([str(LAB)]) == 0
    assert entered[0].args[-1] == "/bin/true"
    printed = capsys.readouterr()
    assert "openstack token issue" in printed.err
    assert "[supply] kubectl: compiling" in printed.err, "minutes of building without a word"
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "absent.yml"),
        ("sitte: lab\n", "did you mean"),
        (LAB.read_text(), "the secrets store holds no keystone/admin"),
    ],
    ids=["no file", "a mistake in it", "a site that was never made"],
)
def test_what_is_in_the_way_is_said_and_nothing_is_entered(
    text: str | None, said: str, home: Path, entered: list[subprocess.CompletedProcess[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    site = home / "absent.yml"
    if text is not None:
        site.write_text(text)
    assert site_shell.main([str(site), "true"]) == 1
    assert said in capsys.readouterr().err
    assert entered == []
    assert not (home / "state").exists(), "a question makes no store"


def test_without_a_site_file_it_says_how_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert site_shell.main([]) == 2
    assert "SITE_FILE [COMMAND" in capsys.readouterr().err
