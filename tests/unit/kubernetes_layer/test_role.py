"""What the role decides by itself: which control host is asked, and where volumes come from."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles/kubernetes"
ADDRESSES = {f"control-{n}": f"127.90.0.{n}" for n in (1, 2, 3)}


@pytest.fixture
def answering() -> Iterator[Any]:
    """Return a function that has control hosts take connections, and gives their port."""
    with ExitStack() as stack:

        def listen(*names: str) -> int:
            port = 0
            for name in names:
                listener = stack.enter_context(socket.socket())
                listener.bind((ADDRESSES[name], port))
                listener.listen()
                port = listener.getsockname()[1]
            return port

        yield listen


def contact(directory: Path, *, port: int, limit: str, joins: tuple[str, ...] = (), check: bool = False) -> str:
    """Return the control host the role asks, in a run on the hosts of ``limit``."""
    site = {"kubernetes": {"api_port": port, "first_control": "control-1"}}
    hosts: dict[str, Any] = {name: {"groundup_host": {"address": address}} for name, address in ADDRESSES.items()}
    for name in (*joins, "worker-1"):
        hosts.setdefault(name, {})["kubernetes_node"] = {"joins": True}
    inventory = {
        "all": {
            "vars": {
                "ansible_connection": "local",
                "groundup_site": site,
                "ansible_python_interpreter": sys.executable,
            },
            "children": {
                "kubernetes": {"children": {"control": {"hosts": dict.fromkeys(ADDRESSES)}}, "hosts": hosts},
            },
        }
    }
    role: dict[str, Any] = {"name": "groundup.cloud.kubernetes", "tasks_from": "contact", "rolespec_validate": False}
    written = {"content": "{{ kubernetes_contact }}", "dest": str(directory / "contact"), "mode": "0600"}
    play = {
        "hosts": "kubernetes",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.import_role": role},
            {"ansible.builtin.copy": written, "run_once": True, "check_mode": False},
        ],
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(json.dumps([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts.yml", "play.yml", "--limit", limit]
    done = subprocess.run(
        [*command, *(["--check"] if check else [])],
        check=False,
        cwd=directory,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (directory / "contact").read_text()


@pytest.mark.parametrize("check", [False, True])
def test_a_site_grows_while_its_first_control_host_is_down(answering: Any, tmp_path: Path, check: bool) -> None:
    port = answering("control-2", "control-3")
    assert contact(tmp_path, port=port, limit="worker-1", check=check) == "control-2"


def test_a_control_host_that_waits_itself_is_not_asked(answering: Any, tmp_path: Path) -> None:
    port = answering("control-2", "control-3")
    assert contact(tmp_path, port=port, limit="control-2,worker-1", joins=("control-2",)) == "control-3"


def test_a_control_host_of_the_run_is_asked_without_looking_for_another(answering: Any, tmp_path: Path) -> None:
    port = answering("control-1")
    assert contact(tmp_path, port=port, limit="control-2,worker-1") == "control-2"


def test_where_nobody_answers_the_first_control_host_is_named(tmp_path: Path) -> None:
    assert contact(tmp_path, port=9, limit="worker-1") == "control-1"


@pytest.fixture
def volumes() -> dict[str, Any]:
    """Return the provisioner's configuration as the role gives it to the cluster."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    text = environment.from_string((ROLE / "templates/local-path.yml.j2").read_text()).render(
        kubernetes_shell="the-image-with-a-shell", kubernetes_images={}, kubernetes_plan={"storage_class": "general"}
    )
    found = [item["data"] for item in yaml.safe_load_all(text) if item["kind"] == "ConfigMap"]
    data: dict[str, Any] = found[0]
    return data


def test_a_volume_is_not_open_to_every_user_of_its_node(volumes: dict[str, Any], tmp_path: Path) -> None:
    volume = tmp_path / "pvc-1"
    environment = {"VOL_DIR": str(volume), "PATH": os.environ["PATH"]}
    subprocess.run(["sh", "-c", volumes["setup"]], check=True, env=environment)
    assert stat.S_IMODE(volume.stat().st_mode) == 0o755
    (volume / "ibdata1").touch()
    subprocess.run(["sh", "-c", volumes["teardown"]], check=True, env=environment)
    assert not volume.exists()


def test_helpers_of_volumes_and_the_probe_run_in_the_same_image(volumes: dict[str, Any]) -> None:
    helper = yaml.safe_load(volumes["helperPod.yaml"])
    assert helper["spec"]["containers"][0]["image"] == "the-image-with-a-shell"
    probe = yaml.safe_load((ROLE / "tasks/verify.yml").read_text())[0]["groundup.cloud.kubernetes_verify"]
    assert probe["image"] == "{{ kubernetes_shell }}"


def flannel(**plan: Any) -> dict[str, Any]:
    """Return what the role gives the cluster for flannel's pods."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    text = environment.from_string((ROLE / "templates/flannel.yml.j2").read_text())
    plan = {"pod_cidr": "10.233.64.0/18", "cni": {"name": "flannel", "backend": "vxlan"}} | plan
    found = yaml.safe_load_all(text.render(kubernetes_plan=plan, kubernetes_images={}))
    pods: dict[str, Any] = next(item for item in found if item["kind"] == "DaemonSet")["spec"]["template"]
    return pods


def test_flannel_starts_again_with_another_backend() -> None:
    """It reads its configuration only when it starts: old nodes would keep theirs, and new ones have the other."""
    assert flannel() == flannel()
    assert flannel() != flannel(cni={"name": "flannel", "backend": "host-gw"})
