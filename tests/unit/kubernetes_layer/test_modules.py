"""What the modules say of a host's disk, and of options that lack something: what is wrong, and never a traceback."""

from __future__ import annotations

import errno
import functools
import hashlib
import http.server
import json
import ssl
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download, fetch, install
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import access, forget, steps
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import host as edge
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.modules import node as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.tests.unit import tls

from .conftest import CLUSTER, SUPPLY

FULL = OSError(errno.ENOSPC, "No space left on device", "/etc/kubernetes/site/join.yaml")
NODE = {
    "name": "worker-1",
    "role": "worker",
    "address": "10.0.0.17",
    "site": "test",
    "cluster": asdict(CLUSTER),
    "supply": asdict(SUPPLY),
    "sandbox_image": "pause",
}
CONTACT = {"name": "control-1", "site": "test", "server": "https://10.0.0.2:6443", "api": "https://10.0.0.16:6444"}
EMPTY = {"name": "worker-1", "address": "10.0.0.17", "roles": ["worker"]}
STALE = {"name": "control-1", "api": "https://10.0.0.16:6444", "hosts": [EMPTY]}


def arguments(step: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the action hands to the module."""
    defaults = {name: option.get("default") for name, option in documented("node").items() if name != "step"}
    return {"step": step, "given": defaults | options}


def said(step: str, options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message the module fails with."""
    with patch_module_args(arguments(step, options)), pytest.raises(SystemExit):
        module.main()
    result = json.loads(capsys.readouterr().out)
    assert result["failed"]
    message: str = result["msg"]
    return message


def raises(error: Exception) -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


@pytest.mark.parametrize(
    ("step", "edge_of_it", "options"),
    [
        ("maintain", (steps, "converge"), NODE),
        ("access", (access, "admin_kubeconfig"), CONTACT),
    ],
)
def test_a_full_disk_is_told_with_the_file(
    step: str,
    edge_of_it: tuple[Any, str],
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(*edge_of_it, raises(FULL))
    message = said(step, options, capsys)
    assert message.startswith("No space left on device")
    for line in ("/etc/kubernetes/site/join.yaml", "why:", "remedy: see df -h"):
        assert line in message


def test_a_run_that_fails_says_what_it_changed_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_node: object, _host: object, changes: Changes, **_: object) -> None:
        changes.add("write /etc/crictl.yaml")
        raise FULL

    monkeypatch.setattr(steps, "converge", fails)
    with patch_module_args(arguments("maintain", NODE)), pytest.raises(SystemExit):
        module.main()
    assert json.loads(capsys.readouterr().out)["changes"] == ["write /etc/crictl.yaml"]


def test_a_field_the_plan_lacks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = {key: value for key, value in asdict(CLUSTER).items() if key != "pod_cidr"}
    message = said("maintain", NODE | {"cluster": cluster}, capsys)
    assert message == "options.cluster lacks pod_cidr: give the plan as it is"


def test_a_run_on_new_hosts_alone_is_refused_by_the_control_host_it_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It would bring the whole cluster its DNS and pod network."""
    (tmp_path / "var/lib/kubelet").mkdir(parents=True)
    (tmp_path / "var/lib/kubelet/config.yaml").write_text("clusterDomain: made.local\n")
    monkeypatch.setattr(edge, "Paths", lambda: Paths(root=tmp_path))
    role = yaml.safe_load((Path(__file__).resolve().parents[3] / "roles/kubernetes/tasks/main.yml").read_text())
    steps = [task["groundup.cloud.node"] for task in role if isinstance(task.get("groundup.cloud.node"), dict)]
    asked = next(options for options in steps if options["step"] == "access")
    assert asked["cluster"] == "{{ kubernetes_plan }}"
    message = said("access", CONTACT | {"cluster": NODE["cluster"]}, capsys)
    assert message.startswith("control-1's cluster was made with Services named in made.local, the site file says")
    message = said("access", CONTACT | {"cluster": {"version": "1.36.3"}}, capsys)
    assert message == "options.cluster lacks endpoint_name: give the plan as it is"


def test_a_host_without_a_field_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/admin.conf").touch()
    monkeypatch.setattr(edge, "Paths", lambda: Paths(root=tmp_path))
    message = said("forget", STALE | {"hosts": [{"name": "worker-1"}]}, capsys)
    assert message == "one of the option hosts lacks 'address': give the plan's hosts as they are"


@pytest.mark.parametrize(
    ("step", "edge_of_it", "options"),
    [("maintain", (steps, "converge"), NODE), ("forget", (forget, "remove_stale_members"), STALE)],
)
def test_a_fault_of_ours_is_not_told_as_one_of_the_options(
    step: str, edge_of_it: tuple[Any, str], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if step == "forget":
        (tmp_path / "etc/kubernetes").mkdir(parents=True)
        (tmp_path / "etc/kubernetes/admin.conf").touch()
        monkeypatch.setattr(edge, "Paths", lambda: Paths(root=tmp_path))
        monkeypatch.setattr(edge.NodeHost, "api", lambda *_: nullcontext())
        monkeypatch.setattr(forget, "Etcd", lambda *_, **__: None)
    monkeypatch.setattr(*edge_of_it, raises(KeyError("ours")))
    with patch_module_args(arguments(step, options)), pytest.raises(KeyError, match="ours"):
        module.main()


def test_a_disk_that_is_full_while_a_program_arrives_is_no_fault_of_the_file_server(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.write_bytes(b"program")
    target = tmp_path / "bin" / "kubelet"
    target.parent.mkdir()
    (target.parent / ".kubelet.part").symlink_to("/dev/full")
    download = Download(url=served.as_uri(), sha256=None, path=str(target), archive=False)
    with pytest.raises(OSError, match="No space left on device"):
        fetch(download, target, sha256=hashlib.sha256(b"program").hexdigest())
    assert list(target.parent.iterdir()) == []


def test_the_file_server_is_believed_by_its_ca_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, other = tls.pair(), tls.pair()  # without extensions that newer ones have
    own = tls.pair(signed_by=authority)
    plain = ssl.create_default_context

    def strict(**options: str | None) -> ssl.SSLContext:
        """Do what Python 3.13 does."""
        context = plain(**options)  # type: ignore[arg-type]
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    (tmp_path / "kubelet").write_bytes(b"program")
    digest = hashlib.sha256(b"program").hexdigest()
    (tmp_path / "kubelet.sha256").write_text(f"{digest}  kubelet\n")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    own.shown_by(server, tmp_path)
    with tls.serving(server) as port:
        url = f"https://127.0.0.1:{port}/kubelet"
        download = Download(url=url, sha256=None, path="/bin/kubelet", archive=False)
        paths = Paths(root=tmp_path / "host")
        for ca in (other.certificate, None):
            with pytest.raises(GroundupError, match=r"cannot fetch .*CERTIFICATE_VERIFY_FAILED"):
                install(Changes(check=False), download, paths.at(download.path), ca=ca)
        install(Changes(check=False), download, paths.at(download.path), ca=authority.certificate)
    assert (tmp_path / "host/bin/kubelet").read_bytes() == b"program"
