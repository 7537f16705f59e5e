"""The plan: everything that can be decided from the site file before a machine is touched.

from ...plugin_utils.plan import load_site, make_plan
plan = make_plan(load_site("inventories/lab/site.yml"))
"""

from __future__ import annotations

from .compile import make_plan
from .errors import Problem, SiteError
from .input.load import build_site, load_site, parse_site
from .output.defaults import defaults
from .output.serial import to_json
from .types import Plan

__all__ = [
    "Plan",
    "Problem",
    "SiteError",
    "build_site",
    "defaults",
    "load_site",
    "make_plan",
    "parse_site",
    "to_json",
]
