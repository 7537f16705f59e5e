"""How a module ends: with its result, or with what is wrong, never with a traceback of a fault on the host."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from .changes import Changes
from .errors import GroundupError, file_error


def finish(
    module: AnsibleModule,
    work: Callable[[], dict[str, Any]],
    *,
    host: str = "this host",
    changes: Changes | None = None,
) -> None:
    """Exit with what ``work`` returns, or fail with its error and the ``changes`` that were made before it."""
    os.umask(0o022)  # services read what is written here, whatever umask the login has
    try:
        result = work()
    except (GroundupError, OSError) as error:
        fault = file_error(error, host=host) if isinstance(error, OSError) else error
        module.fail_json(msg=str(fault), **(changes.result() if changes else {}))
    for warning in changes.warnings if changes else ():
        module.warn(warning)
    module.exit_json(**result)
