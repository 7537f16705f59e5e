"""Charts of the cluster get images by digest and secrets of the store, and no output has a secret."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import cluster
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm import charts as room
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import FieldChange, ObjectChange, ReleaseDiff
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Ref
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

NAME, SITE = "ceph/client.kubernetes", "unit"
IMAGE = "registry.test:5000/cephcsi/cephcsi"
PINS = {f"{IMAGE}:v3": f"{IMAGE}:v3@sha256:{'a' * 64}"}
VALUES = {"secret": {"userKey": {"$secret": NAME}}, "plugin": {"image": {"repository": IMAGE, "tag": "v3"}}}


class Charts:
    """The action, on releases that it is given; what it would have had Helm install."""

    def __init__(self) -> None:
        self.releases: Sequence[ReleasePlan] = ()
        self.fails = False

    def converge(self, releases: Sequence[ReleasePlan], **_options: Any) -> list[ReleaseDiff]:
        self.releases = releases
        key = releases[0].values["secret"]["userKey"]
        if self.fails:
            raise GroundupError(f"Helm says {key}", where="w", why="y", remedy="r")
        fields = (FieldChange(path="spec.argument", before=None, after=f"--key={key}"),)
        return [
            ReleaseDiff(release="r", changes=(ObjectChange(ref=Ref("Pod", "n", "p"), kind="change", fields=fields),))
        ]

    def run(self, values: dict[str, Any], *, check: bool = False, step: str = "install") -> dict[str, Any]:
        release = {
            "name": "r", "chart": "c", "version": "1", "namespace": "n", "needs": [], "verify": "workloads",
            "values": values,
        }  # fmt: skip
        action: Any = object.__new__(cluster.ActionModule)
        given: dict[str, Any] = {"site": SITE, "version": "1.36.3", "charts": "c", "source": "build"}
        given |= {"step": step, "images": PINS, "releases": [release], "starts": False}
        action._task = SimpleNamespace(args=given, check_mode=check)
        action._display = SimpleNamespace(display=print)
        result: dict[str, Any] = action.run()
        return result


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Charts:
    found = Charts()
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_, **__: (None, self._task.args))
    monkeypatch.setattr(room, "ensure", lambda name, **_: {name: SimpleNamespace(path=tmp_path)})
    monkeypatch.setattr(room, "missing", lambda *_, **__: ())
    monkeypatch.setattr(room, "tool", lambda *_, **__: tmp_path / "helm")
    monkeypatch.setattr(room, "Api", lambda *_: None)
    monkeypatch.setattr(room, "converge", found.converge)
    return found


@pytest.fixture
def key(charts: Charts) -> str:
    """The key in the store of the site."""
    del charts  # it sets where the store is
    store = open_store(SITE)
    store.ensure([NAME])
    return store.get(NAME)


def test_a_secret_of_the_store_reaches_helm_and_no_diff(charts: Charts, key: str) -> None:
    done = charts.run(VALUES)
    assert charts.releases[0].values["secret"]["userKey"] == key
    assert "--key=[secret ceph/client.kubernetes]" in done["diff"]["prepared"]
    assert key not in str(done)


def test_an_error_with_a_secret_in_it_is_told_without(charts: Charts, key: str) -> None:
    charts.fails = True
    done = charts.run(VALUES)
    assert done["failed"]
    assert "Helm says [secret ceph/client.kubernetes]" in done["msg"]
    assert key not in str(done)


def test_a_prediction_makes_up_what_the_store_lacks_and_writes_nothing(charts: Charts, tmp_path: Path) -> None:
    assert charts.run(VALUES, check=True)["changed"]
    assert charts.releases[0].values["secret"]["userKey"].startswith("AQ")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_the_secret_is_refused_with_its_name(charts: Charts) -> None:
    done = charts.run(VALUES)
    assert done["failed"]
    assert f"the secrets store holds no {NAME}" in done["msg"]
    assert charts.releases == ()


@pytest.mark.usefixtures("key")
def test_an_image_in_two_values_is_pinned_as_one_in_one_value_is(charts: Charts) -> None:
    charts.run({**VALUES, "whole": f"{IMAGE}:v3", "other": {"repository": IMAGE, "tag": "v4"}})
    values = charts.releases[0].values
    assert "{repository}:{tag}".format(**values["plugin"]["image"]) == values["whole"] == PINS[f"{IMAGE}:v3"]
    assert values["other"] == {"repository": IMAGE, "tag": "v4"}


def test_to_verify_in_a_prediction_is_skipped(charts: Charts) -> None:
    assert charts.run(VALUES, check=True, step="wait")["skipped"]
