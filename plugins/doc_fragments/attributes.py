"""Documentation that modules share: who wrote them, check mode and diff mode."""

from __future__ import annotations


class ModuleDocFragment:
    """A module adds its own description of what it does in each mode."""

    DOCUMENTATION = r"""
author:
  - The groundup.cloud developers (@groundup-cloud)
attributes:
  check_mode:
    description: Predicts every change and makes none.
    support: full
  diff_mode:
    description: Shows what would change, or has changed.
    support: full
"""

    LINES = r"""
author:
  - The groundup.cloud developers (@groundup-cloud)
attributes:
  check_mode:
    description: Predicts every change and makes none.
    support: full
  diff_mode:
    description: Nothing is shown beside the lines of the result.
    support: none
"""

    INFO = r"""
author:
  - The groundup.cloud developers (@groundup-cloud)
attributes:
  check_mode:
    description: Reads only.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
"""
