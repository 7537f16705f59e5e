"""Who administers a site's own cloud: address, CAs and password. Loads no client, so that any action may ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._base.changes import Changes
from ..errors import GroundupError
from ..https import trust_file
from ..services import keystone

if TYPE_CHECKING:
    from ..plan.types import Plan

GATEWAY = (502, 503, 504)  # from the edge while no backend is up
VERIFY = "run the playbook groundup.cloud.openstack, tag verify"


class UnreachedError(GroundupError):
    """The cloud cannot be reached, or is not deployed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """The way to Keystone."""

    url: str
    authority: Path  # file with the CAs of the public names
    password: str = field(repr=False)


def administrator(plan: Plan) -> Administrator:
    """Return the administrator of the site's own cloud. Raises GroundupError when it has none."""
    from ..vault import open_store  # late import: not where only the error is

    identity = next((one for one in plan.edge.endpoints if one.service == keystone.SERVICE.name), None)
    if identity is None:
        raise GroundupError(
            "the site has no Keystone of its own",
            where="site file key openstack.services",
            why="whoever asks the cloud needs a token",
            remedy="write keystone into it, or name a cloud of clouds.yaml",
        )
    authority = trust_file(plan)
    password = open_store(plan.site, write=False).items().get(keystone.ADMIN_CREDENTIAL)
    if not authority.is_file() or not password:
        raise UnreachedError(
            f"the site has no {authority.name} or no secret {keystone.ADMIN_CREDENTIAL} yet",
            where=str(authority.parent),
            why="the cloud's certificate cannot be checked, or nobody logs in",
            remedy="run the playbook groundup.cloud.secrets",
        )
    return Administrator(url=identity.url, authority=authority, password=password)


@contextmanager
def or_foreseen(changes: Changes, foresee: Callable[[], object]) -> Iterator[None]:
    """Call ``foresee`` in a dry run before the cloud exists. Errors of a cloud that answers stay errors."""
    try:
        yield
    except UnreachedError:
        if not changes.check:
            raise
        foresee()
