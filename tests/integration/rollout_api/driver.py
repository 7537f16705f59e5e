"""A rollout as a process of its own, to be interrupted and killed: KUBECONFIG HELM NAMESPACE VALUES (as JSON)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import InterruptedRunError

from .conftest import Site


def main() -> int:
    """Apply one release; 0: it came up, 1: it did not, 3: interrupted."""
    kubeconfig, helm, namespace, values = sys.argv[1:]
    programs: Any = SimpleNamespace(kubeconfig=Path(kubeconfig), helm=Path(helm))
    puppet: Any = None
    site = Site(programs, namespace, Api(Path(kubeconfig)), puppet)
    rollout = site.rollout(site.release("probe", **json.loads(values)))
    print("begun", flush=True)
    try:
        return 1 if rollout.apply().failed else 0
    except InterruptedRunError as error:
        print(error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
