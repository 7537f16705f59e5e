"""Every value given to a pod network's chart exists in the chart of its project, with a type it can take."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform import versions
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan

from .conftest import DATA, ROOT
from .derive import types
from .keys import read

SCALARS = {bool: "boolean", int: "number", str: "string"}
CHOICES = [("cilium", "vxlan"), ("cilium", "geneve"), ("cilium", "host-gw"), ("calico", "vxlan"), ("calico", "host-gw")]


def releases(cni: str, backend: str) -> tuple[ReleasePlan, ...]:
    """Return the releases of the lab's plan with another pod network."""
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    data["kubernetes"] |= {"cni": cni, "cni_backend": backend}
    return make_plan(build_site(data)).kubernetes.cni.releases


@pytest.fixture(scope="module")
def known() -> Any:
    """Key paths and types of the charts' values."""
    return read(DATA / "cni-keys.json")["keys"]


@pytest.fixture(scope="module")
def cilium() -> Path:
    """The archive of Cilium's chart, as supply takes it out of Cilium's module."""
    if supply.missing("cilium-charts"):
        pytest.skip("the cache lacks cilium-charts: `ci/supply build cilium-charts` makes it from Cilium's Go module")
    place = supply.ensure("cilium-charts")["cilium-charts"].path
    return place / f"cilium-{versions.POD_NETWORKS['cilium'].chart_version}.tgz"


def faults(value: Any, tree: Any, path: str = "") -> Iterator[str]:
    """Yield what in ``value`` the chart with key tree ``tree`` does not have, or has as another type."""
    if isinstance(value, dict) and isinstance(tree, dict):
        for key, inner in value.items():
            here = f"{path}.{key}".lstrip(".")
            if key in tree:
                yield from faults(inner, tree[key], here)
            else:
                yield f"{here} does not exist in the chart"
    elif isinstance(value, list) and isinstance(tree, list):
        for inner in value:
            yield from faults(inner, tree[0], f"{path}[]")
    elif tree != "null":  # what is null in the chart may be anything
        mine = "map" if isinstance(value, dict) else "list" if isinstance(value, list) else SCALARS[type(value)]
        if mine != tree:
            yield f"{path} is a {mine} here and a {tree if isinstance(tree, str) else type(tree).__name__} in the chart"


@pytest.mark.parametrize(("cni", "backend"), CHOICES)
def test_every_value_exists_in_its_projects_chart(cni: str, backend: str, known: Any) -> None:
    found = releases(cni, backend)
    assert found
    assert [fault for release in found for fault in faults(release.values, known[release.chart])] == []


def test_a_value_the_chart_does_not_have_is_found(known: Any) -> None:
    values = {
        "installation": {"calicoNetwork": {"ipPools": [{"cidr": "10.0.0.0/8", "encap": "VXLAN"}], "mtu": "1450"}},
        "tigeraOperator": {"tag": "v1"},
    }
    assert list(faults(values, known["tigera-operator"])) == [
        "installation.calicoNetwork.ipPools[].encap does not exist in the chart",
        "installation.calicoNetwork.mtu is a string here and a number in the chart",
        "tigeraOperator.tag does not exist in the chart",
    ]


def test_the_recorded_keys_are_those_of_the_chart_in_the_lock(cilium: Path, known: Any) -> None:
    with tarfile.open(cilium) as archive:
        stream = archive.extractfile("cilium/values.yaml")
        assert stream is not None
        assert known["cilium"] == types(yaml.safe_load(stream.read()))


@pytest.mark.parametrize("backend", ["vxlan", "geneve", "host-gw"])
def test_cilium_renders_with_nothing_from_elsewhere_and_twice_the_same(backend: str, cilium: Path, helm: Path) -> None:
    (release,) = releases("cilium", backend)
    command = [str(helm), "template", release.name, str(cilium), "--namespace", release.namespace, "--values", "-"]
    texts = [
        subprocess.run(
            [*command, "--kube-version", "v1.36.3", "--skip-tests"],
            input=json.dumps(release.values), capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert texts[0] == texts[1]
    images = {line.split('"')[1] for line in texts[0].splitlines() if line.strip().startswith("image: ")}
    assert images == {value["image"]["override"] for value in (release.values, release.values["operator"])}
