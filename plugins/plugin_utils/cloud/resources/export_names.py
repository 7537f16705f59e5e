"""Names of what is exported: the site file has no ids, so each must mean one thing, and that which is meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import GroundupError

Found = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Names:
    """What a cloud has by kind, as a project's part of the site file calls it; and what it cannot call."""

    every: Mapping[str, Collection[Found]]
    project: str  # ids
    admin: str
    refused: list[str] = field(default_factory=list)

    def own(self, kind: str) -> list[Found]:
        """Return what the project has of a kind; note what has no name of its own."""
        found, by_name = self._of(kind, self.project), defaultdict[str, list[str]](list)
        for one in found:
            by_name[str(one["name"] or "")].append(str(one["id"]))
        for name, ids in by_name.items():
            if not name or len(ids) > 1:
                told = f"{kind.replace('_', ' ')} {', '.join(ids)}"
                self.refused.append(f"{told} are all called {name}" if name else f"{told} has no name")
        return found

    def inner(self, kind: str, identity: str) -> str:
        """Return the name of what the project has, "" of what it has not."""
        return next((str(one["name"]) for one in self._of(kind, self.project) if one["id"] == identity), "")

    def shared(self, kind: str, identity: str | None, *, by: str = "") -> str:
        """Return the name of what the administrator has, "" of what others have: noted if ``by`` cannot be without.

        Another one of the name is noted, too.
        """
        mine = self._of(kind, self.admin)
        name = next((str(one["name"]) for one in mine if one["id"] == identity), "")
        if by and identity and not name:
            self.refused.append(f"{by} has {kind.replace('_', ' ')} {identity}, which a project owns")
        if len(same := [str(one["id"]) for one in mine if one["name"] == name]) > 1:
            self.refused.append(f"{kind.replace('_', ' ')} {', '.join(same)} are all called {name}")
        return name

    def outside(self, network: str, *, router: str) -> str:
        """Return the name of a router's external network; note where the site file would mean another one."""
        every = self.every["network"]
        name = next((str(one["name"]) for one in every if one["id"] == network), "")
        given = [one for one in every if one["router:external"] or one["shared"]]
        places = (self._of("network", self.project), self._of("network", self.admin), given)
        same = ([str(one["id"]) for one in place if one["name"] == name] for place in places)
        if (meant := next(filter(None, same), [])) != [network]:
            self.refused.append(f"router {router} needs network {network}, and {name} means {', '.join(meant)}")
        return name

    def refuse(self, project: str) -> None:
        """Raise GroundupError with all that cannot be named."""
        if self.refused:
            raise GroundupError(
                "; ".join(dict.fromkeys(self.refused)), where=f"project {project}",
                why="the site file refers by names, and would mean another one, or lose one",
                remedy="give each a name of its own (openstack KIND set --name NAME ID), and export again",
            )  # fmt: skip

    def _of(self, kind: str, owner: str) -> list[Found]:
        return [
            one for one in self.every[kind]
            if one["project_id"] == owner and (kind, one["name"]) != ("security_group", "default")
        ]  # fmt: skip
