"""Policies of the site's own that name rules which the service does not have: nothing would come of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..form import choose, error
from ..types import Finding

NAMES = ("policy-unknown-rule",)
FILE = Path(__file__).with_name("policies.json")  # written by tests/integration/images/test_roles.py
_REFERENCE = re.compile(r"\brule:([\w:.-]+)")


def rules() -> dict[str, list[str]]:
    """Return the rules of each service, former names included."""
    return {name: text.split() for name, text in json.loads(FILE.read_text(encoding="utf-8")).items()}


def check(where: str, service: str, values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each rule of `conf.policy` in ``values`` that ``service`` never asks for, or that is missing.

    A rule of another name is one's own, where a rule of the same policy refers to it.
    """
    conf = values.get("conf")
    own = conf.get("policy") if isinstance(conf, Mapping) else None
    if not isinstance(own, Mapping) or (known := rules().get(service)) is None:
        return
    referred = {name: rule for rule, text in own.items() for name in _REFERENCE.findall(str(text))}
    for name in own:
        if name not in referred and not _known(service, name, known):
            yield error("policy-unknown-rule", f"{where}.conf.policy.{name}")(
                what=f"{service} has no rule {name}",
                why="it never asks for it: what the rule was to forbid or allow stays as it was",
                remedy=choose(name, known),
            )
    for name, rule in referred.items():
        if name not in own and name not in known:
            yield error("policy-unknown-rule", f"{where}.conf.policy.{rule}")(
                what=f"{rule} refers to a rule {name}, which {service} does not have",
                why="such a reference says no to everybody",
                remedy=choose(name, [*own, *known]),
            )


def _known(service: str, name: str, known: list[str]) -> bool:
    """Return whether ``service`` asks for a rule. Neutron asks for one of each attribute (get_network:mtu), too."""
    return name in known or (service == "neutron" and name.partition(":")[0] in known)
