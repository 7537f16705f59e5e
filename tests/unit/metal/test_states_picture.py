"""The picture of a machine's way is the one of its tables: every state, Ironic's states, and every card."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import get_args

from ansible_collections.groundup.cloud.ci.reference import states
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import way
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

SVG = "{http://www.w3.org/2000/svg}"


def words() -> list[str]:
    tree = ET.fromstring(states.picture())  # noqa: S314 - our own text
    return [element.text or "" for element in tree.iter(f"{SVG}text")]


def test_the_committed_picture_is_fresh() -> None:
    assert (COLLECTION / states.PICTURE).read_text() == states.picture(), (
        "ci/run python -m ansible_collections.groundup.cloud.ci.reference"
    )


def test_every_state_is_drawn_once() -> None:
    assert sorted(word for word in words() if word in get_args(way.State)) == sorted(get_args(way.State))


def test_every_state_beside_the_way_says_whence_a_machine_comes_there() -> None:
    order = get_args(way.State)
    assert set(states._FROM) == set(order[order.index("serving") + 1 :])


def test_states_of_ironic_and_cards_are_named() -> None:
    drawn = "\n".join(words())
    assert not [ironic for ironic in way._STEPS if ironic not in drawn]
    assert not [what for _, what, _, _ in way._CARDS if what not in drawn]


def test_nothing_is_drawn_outside() -> None:
    tree = ET.fromstring(states.picture())  # noqa: S314 - our own text
    height = float(tree.get("height", "0"))
    for box in tree.iter(f"{SVG}rect"):
        assert float(box.get("y", "0")) + float(box.get("height", "0")) <= height
