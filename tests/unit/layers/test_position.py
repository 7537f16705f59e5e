"""Layers of a run are numbered among those that the site has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.position import LayerCount

GROUPS = {"provisioner_existing": ["a"], "all": ["a"], "seed": ["a"], "kubernetes": ["a"], "network": [], "compute": []}


def play(layer: str | None) -> Any:
    return SimpleNamespace(vars={"groundup_layer": layer} if layer else {})


def test_a_layer_begins_once_with_its_number_among_those_with_hosts() -> None:
    plays = [play(name) for name in (*LAYERS, "contact", None)]
    count = LayerCount(plays)
    said = [count.begins(one, GROUPS) for name in LAYERS for one in (play(None), play(name), play(name))]
    assert [line for line in said if line] == [
        f"Layer {number} of 7: {name}"
        for number, name in enumerate(["plan", "supply", "metal", "seed", "host", "kubernetes", "openstack"], 1)
    ]


def test_the_number_is_the_same_from_the_middle() -> None:
    count = LayerCount([play(name) for name in LAYERS])
    assert count.begins(play("kubernetes"), GROUPS) == "Layer 6 of 7: kubernetes"


def test_a_single_playbook_has_no_number() -> None:
    assert LayerCount([play(None)]).begins(play(None), GROUPS) == ""
    assert LayerCount([play("supply"), play("contact")]).begins(play("supply"), GROUPS) == ""
