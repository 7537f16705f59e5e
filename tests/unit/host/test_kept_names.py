"""A host keeps its site, its cluster and its name, and resolves the site's names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    baseline,
    naming,
    ownership,
    verification,
)


def test_a_host_of_another_site_or_of_lost_secrets_is_refused_before_anything_changes(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    ownership.belongs(changes, site="lab", store="one")
    ownership.belongs(changes, site="lab", store="one")
    assert len(changes.done) == 1
    for site, store in (("lab", "two"), ("other", "one")):
        with pytest.raises(GroundupError, match=f"(?s)belongs to site lab.*{site} {store}"):
            ownership.belongs(changes, site=site, store=store)
    assert (tmp_path / "site").read_text() == "lab one\n"
    assert len(changes.done) == 1


KUBECONFIG = """\
clusters:
- cluster:
    server: https://{server}
"""


@pytest.mark.parametrize(
    ("file", "own"), [("admin.conf", "10.0.0.16:6444"), ("kubelet.conf", "kubernetes.lab.test:6443")]
)
def test_the_name_a_node_calls_its_api_by_is_not_forgotten(
    file: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another `domain`: every kubelet of the site would lose its API before the cluster's layer begins."""
    paths = tuple(tmp_path / name for name in ("admin.conf", "kubelet.conf"))
    monkeypatch.setattr(baseline, "KUBECONFIGS", paths)
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    monkeypatch.setattr(naming, "HOSTNAME", tmp_path / "hostname")
    wanted: dict[str, Any] = {
        "site": "lab", "store": "one", "name": "worker-1", "names": {"kubernetes.lab.test": "10.0.0.2"},
    }  # fmt: skip
    baseline.keeps_its_cluster("worker-1", names=wanted["names"])
    paths[1].write_text(KUBECONFIG.format(server=own))
    (tmp_path / file).write_text(KUBECONFIG.format(server="kubernetes.lab.test:6443"))
    baseline.keeps_its_cluster("worker-1", names=wanted["names"])
    monkeypatch.setattr(naming, "own_name", lambda *_: pytest.fail("the host was changed"))
    with pytest.raises(
        GroundupError, match=r"(?s)a cluster whose API is kubernetes\.lab\.test, .*site file key domain"
    ):
        baseline.configure(Changes(check=False), wanted | {"names": {"kubernetes.new.test": "10.0.0.2"}})


def test_a_node_is_not_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start of its kubelet would be the last of its Node."""
    paths = tuple(tmp_path / name for name in ("admin.conf", "kubelet.conf"))
    monkeypatch.setattr(baseline, "KUBECONFIGS", paths)
    monkeypatch.setattr(naming, "HOSTNAME", tmp_path / "hostname")
    naming.HOSTNAME.write_text("worker-1\n")
    baseline.keeps_its_cluster("compute-1", names={})
    paths[1].write_text(KUBECONFIG.format(server="10.0.0.16:6444"))
    baseline.keeps_its_cluster("worker-1", names={})
    with pytest.raises(GroundupError, match=r"(?s)is worker-1, a node .* is to be compute-1.*call it worker-1"):
        baseline.keeps_its_cluster("compute-1", names={})


def test_the_resolver_of_a_host_is_written_only_when_the_site_says_which(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 192.0.2.1\n")
    monkeypatch.setattr(naming, "RESOLV", resolv)
    naming.resolver(changes, [], domain="lab.test")
    assert resolv.read_text() == "nameserver 192.0.2.1\n"
    naming.resolver(changes, ["10.0.0.1", "10.0.0.2"], domain="lab.test")
    assert resolv.read_text().splitlines()[1:] == ["search lab.test", "nameserver 10.0.0.1", "nameserver 10.0.0.2"]


def test_a_host_without_a_resolver_has_the_file_all_the_same(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "RESOLV", tmp_path / "resolv.conf")  # the kubelet makes no pod without it
    naming.resolver(changes, [], domain="lab.test")
    assert (tmp_path / "resolv.conf").read_text().splitlines()[1:] == ["search lab.test"]


def test_names_that_resolve_elsewhere_or_not_at_all_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str, _port: None) -> list[Any]:
        if name == "gone.lab.test":
            raise OSError(-2, "Name or service not known")
        other = [(0, 0, 0, "", ("127.0.0.1", 0))] if name == "both.lab.test" else []
        return [*other, (0, 0, 0, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(verification, "socket", SimpleNamespace(getaddrinfo=ask))
    names = {
        "right.lab.test": "10.0.0.1",
        "both.lab.test": "10.0.0.1",
        "wrong.lab.test": "10.0.0.2",
        "gone.lab.test": "10.0.0.3",
    }
    assert verification.unresolved(names) == [
        "both.lab.test: 10.0.0.1, 127.0.0.1, not 10.0.0.1 alone",
        "gone.lab.test: Name or service not known, not 10.0.0.3",
        "wrong.lab.test: 10.0.0.1, not 10.0.0.2",
    ]
