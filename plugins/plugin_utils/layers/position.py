"""Which layer of a run a play belongs to, and its number among those that the site has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .layers import LAYERS, LayerRecord

VARIABLE = "groundup_layer"  # variable of the plays that `site` and `precheck` import


def layer_of(play: Any) -> str:
    """Return the layer of a play that a playbook of several layers imports; "" for any other play."""
    return str(play.vars.get(VARIABLE) or "")


class LayerCount:
    """Numbers the layers of one run. A run of one layer has no numbers."""

    def __init__(self, plays: Iterable[Any]) -> None:
        of_run = {layer_of(play) for play in plays}
        self._layers = [name for name in LAYERS if name in of_run]
        self._last = ""

    def begins(self, play: Any, groups: Mapping[str, Sequence[str]]) -> str:
        """Return a line when ``play`` is the first of another layer. ``groups``: hosts of the inventory's groups."""
        layer, present = layer_of(play), [name for name in self._layers if has_hosts(LAYERS[name], groups)]
        if layer == self._last or layer not in present or len(present) < 2:
            return ""
        self._last = layer
        return f"Layer {present.index(layer) + 1} of {len(present)}: {layer}"


def has_hosts(layer: LayerRecord, groups: Mapping[str, Sequence[str]]) -> bool:
    """Say whether the site has hosts for ``layer``. ``groups``: hosts of the inventory's groups."""
    own = [f"provisioner_{name}" for name in layer.provisioners] or [layer.group]
    return layer.group == "localhost" or any(groups.get(name) for name in own)
