"""Base of the collection's lookups: the site, dry runs, and the form of errors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from .errors import GroundupError
from .run_mode import dry_run


class SiteLookup(LookupBase):  # type: ignore[misc]  # ansible ships no types
    """A lookup of a site's data. A subclass implements ``look``."""

    variables: dict[str, Any]
    _given: dict[str, Any]

    @abstractmethod
    def look(self, terms: list[Any]) -> list[Any]:
        """Return one result for each of ``terms``. Raises GroundupError."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **options: Any) -> list[Any]:
        """Return the result of ``look``. Its GroundupError becomes the lookup's error."""
        self.variables, self._given = variables or {}, options
        try:
            return self.look(terms)
        except GroundupError as error:
            raise AnsibleLookupError(str(error)) from None  # its text is complete; Ansible would repeat every cause

    @property
    def site(self) -> str:
        """Name of the site: the option ``site``, else from the inventory."""
        known = self._given.get("site") or self.variables.get("groundup_site", {}).get("site")
        if not known:
            raise GroundupError(
                "no site to look in",
                where="a lookup of groundup.cloud",
                why="what it reads is kept by site",
                remedy="run with the site file as inventory, or give the option site",
            )
        return str(known)

    @property
    def dry_run(self) -> bool:
        """Whether this is a dry run, in which missing data is no error."""
        return dry_run(self.variables)
