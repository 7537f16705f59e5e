"""Scripts of the built-in charts, loaded from the files the charts put into pods."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

CHARTS = Path(__file__).resolve().parents[3] / "charts"


def script(path: str) -> ModuleType:
    """Return the chart script at ``path`` below charts/ as a module; it finds its neighbours as it does in the pod."""
    name = "chart_" + path.replace("/", "_").replace("-", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, CHARTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = sys.dont_write_bytecode
    # What lies in a chart's directory becomes part of the chart.
    sys.dont_write_bytecode = True
    places = [str((CHARTS / path).parent), str(CHARTS / "groundup-lib/files")]
    sys.path[:0] = places
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.path[: len(places)]
        sys.dont_write_bytecode = before
    return module
