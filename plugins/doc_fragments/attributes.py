"""Documentation fragment: author, check mode and diff mode."""

from __future__ import annotations


class ModuleDocFragment:
    """Each module adds its own descriptions of both modes."""

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
