"""A run that is killed after any of its effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Killer:
    """Ends the run after its n-th effect on files, services or by programs."""

    def __init__(self) -> None:
        self.left = 0

    def after(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``real``, which counts and ends the run once it has done its part."""

        def effect(*arguments: Any, **options: Any) -> Any:
            found = real(*arguments, **options)
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return found

        return effect
