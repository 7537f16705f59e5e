"""What runs made, kept where members of projects cannot write: anyone may copy a mark into what is theirs.

It is the ConfigMap `groundup-resources` of the cloud's namespace. Without one (of a release before it, or deleted by
hand) the marks of what the site file names count once more; the first run that changes something writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import GroundupError

if TYPE_CHECKING:
    from ...kube.client import Api

NAME, _MANAGER, _KEY = "groundup-resources", "groundup-resources", "ledger"


@dataclass(slots=True)
class Ledger:
    """Ids of what runs made or took over, and what a run began: a killed one has not ended it."""

    known: bool = False  # whether a run has kept one
    made: set[str] = field(default_factory=set)  # ids; what a run finds to be of the site file is added
    making: dict[str, str] = field(default_factory=dict)  # key in the site file -> id, "" where the API chooses it
    lent: set[str] = field(default_factory=set)  # paths of roles that the administrator has while a run asks
    keep: Callable[[str], object] = lambda _: None  # takes it as text
    kept: str = ""

    def accepts(self, identity: str, key: str) -> bool:
        """Return whether what has the mark and the name of ``key`` of the site file may be of a run."""
        return not self.known or identity in self.made or self.making.get(key) in ("", identity)

    def begin(self, making: Mapping[str, str]) -> None:
        """Keep what this run is about to make."""
        self.known, self.making = True, dict(making)
        self._store()

    def end(self, there: Mapping[str, str], gone: Iterable[str]) -> None:
        """Keep what is ``there``, ids by key in the site file, and forget what is ``gone``."""
        self.made = (self.made | set(there.values())) - set(gone)
        self.making = {key: identity for key, identity in self.making.items() if key not in there}
        self._store()

    def lend(self, role: str) -> None:
        """Keep that the administrator is about to get a role."""
        self.lent.add(role)
        self._store()

    def took_back(self, role: str) -> None:
        self.lent.discard(role)
        self._store()

    def _store(self) -> None:
        whole = {"made": sorted(self.made), "making": self.making, "lent": sorted(self.lent)}
        if (text := json.dumps(whole, sort_keys=True)) != self.kept:
            self.keep(text)
            self.kept = text


def of_cluster(api: Api, namespace: str) -> Ledger:
    """Return the ledger of the cloud in ``namespace``. Raises ApiError, GroundupError."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/{NAME}"

    def keep(text: str) -> None:
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": namespace},
                "data": {_KEY: text}}  # fmt: skip
        api.apply(path, item, manager=_MANAGER)

    found = api.find(path)
    if found is None:
        return Ledger(keep=keep)
    text = str((found.get("data") or {}).get(_KEY))
    try:
        read: Mapping[str, Any] = json.loads(text)
        return Ledger(known=True, made=set(read["made"]), making=dict(read["making"]), lent=set(read["lent"]),
                      keep=keep, kept=text)  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise GroundupError(
            f"the list of what runs made cannot be read: {error}", where=f"ConfigMap/{NAME} in {namespace}",
            why="without it a tenant's copy of a mark would be taken for ours",
            remedy="restore it from a backup, or delete it: marks of what the site file names count once more then",
        ) from error  # fmt: skip
