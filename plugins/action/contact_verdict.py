"""Action of module groundup.cloud.contact_verdict: names all existing hosts that the run cannot use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.host_keys import shown
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import dry_run

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "result": {"type": "str", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Runs once, on the controller."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail while a fault stands; in a dry run, warn."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(ARGUMENTS)
        variables = task_vars or {}
        asked = {host: variables["hostvars"][host].get(arguments["result"]) for host in arguments["hosts"]}
        said = verdict({host: found for host, found in asked.items() if found})
        if not said:
            return result
        if dry_run(variables):
            Display().warning(said, formatted=True)
            return result
        return result | {"failed": True, "msg": said}


def verdict(asked: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a text about all hosts that cannot be used, empty when there are none."""
    parts, unknown = [], {}
    for host, found in asked.items():
        contact = found.get("contact")
        if contact is None:
            parts.append(f"{host}: {found.get('msg')}")
        elif contact["host_key"]:
            unknown[host] = contact["host_key"]
        elif fault := contact["fault"]:
            lines = (f"  {name + ':':<7} {fault[name]}" for name in ("where", "why", "remedy"))
            parts.append("\n".join((fault["what"], *lines)))
    if unknown:
        parts.append(f"{len(unknown)} host(s) show an ssh key that nobody has confirmed\n\n{shown(unknown)}")
    return "\n\n".join(parts)
