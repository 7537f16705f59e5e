"""Action of module groundup.cloud.kubernetes_charts: runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.helm.client import Helm
from ..plugin_utils.helm.converge import converge
from ..plugin_utils.helm.diff import diff_text
from ..plugin_utils.helm.types import ReleaseDiff
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.plan.types import ReleasePlan
from ..plugin_utils.process import Processes
from ..plugin_utils.supply import ensure, missing, tool


class ActionModule(DocumentedAction):
    """Install charts of the lock with the admin kubeconfig of the site."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes, with a diff."""
        if self._task.check_mode and (unmade := _unmade(given)):
            return _not_made(unmade)
        diffs = self._converge(given)
        text = diff_text(diffs)
        return {
            "changed": bool(diffs),
            "releases": [diff.release for diff in diffs],
            "diff": {"prepared": text} if text else {},
        }

    def _converge(self, arguments: dict[str, Any]) -> list[ReleaseDiff]:
        check, kubeconfig = bool(self._task.check_mode), kubeconfig_path(arguments["site"])
        charts, processes = arguments["charts"], Processes()
        found = ensure(charts, progress=self._display.display, source=arguments["source"])[charts]
        binary = tool("helm", progress=self._display.display)
        helm = Helm(binary=binary, kubeconfig=kubeconfig, charts=str(found.path), processes=processes)
        try:
            return converge(
                _releases(arguments["releases"], images=arguments["images"]),
                version=arguments["version"],
                api=None if check and not kubeconfig.is_file() else Api(kubeconfig),
                helm=helm,
                say=self._display.display,
                check=check,
            )
        finally:
            processes.stop()


def _unmade(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    return (*missing(arguments["charts"], source=arguments["source"]), *missing("helm"))


def _not_made(unmade: tuple[str, ...]) -> dict[str, Any]:
    """Return the prediction when artifacts are missing; a prediction builds nothing itself."""
    lacks = f"the cache lacks {', '.join(unmade)}, which the playbook groundup.cloud.supply makes"
    said = f"no chart can be rendered yet, so that differences are not known: {lacks}"
    return {"changed": True, "msg": said, "releases": [], "diff": {}}


def _releases(plain: list[Any], *, images: Mapping[str, str]) -> list[ReleasePlan]:
    """Return the plan's releases, with image names replaced as in ``images``."""
    # Ansible's strings are tagged objects that YAML cannot write: convert to plain ones.
    data = json.loads(json.dumps(_pinned(plain, images)))
    return [ReleasePlan(**{**item, "needs": tuple(item["needs"])}) for item in data]


def _pinned(value: Any, images: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _pinned(item, images) for key, item in value.items()}
    if isinstance(value, list):
        return [_pinned(item, images) for item in value]
    return images.get(value, value) if isinstance(value, str) else value
