"""Action of module groundup.cloud.kubernetes_charts: runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.helm.client import Helm
from ..plugin_utils.helm.converge import converge
from ..plugin_utils.helm.diff import diff_text
from ..plugin_utils.helm.ready import wait_ready
from ..plugin_utils.helm.types import ReleaseDiff
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.plan.types import ReleasePlan
from ..plugin_utils.process import Processes
from ..plugin_utils.supply import ensure, missing, tool
from ..plugin_utils.vault import Redactor, Store, open_store, references


class ActionModule(DocumentedAction):
    """Install charts of the lock with the admin kubeconfig of the site."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes, with a diff. No text has a secret of the releases' values."""
        if given["verify"]:
            return self._verify(given)
        if self._task.check_mode and (unmade := _unmade(given)):
            return _not_made(unmade)
        names = references(given["releases"])
        store = self._store(given["site"], names) if names else None
        clean = Redactor({name: store.get(name) for name in names} if store else {}).text
        try:
            diffs = self._converge(given, store)
        except GroundupError as error:
            raise GroundupError(clean(error.what), where=error.where, why=error.why, remedy=error.remedy) from None
        text = diff_text(diffs, clean)
        return {
            "changed": bool(diffs),
            "releases": [diff.release for diff in diffs],
            "diff": {"prepared": text} if text else {},
        }

    def _verify(self, given: dict[str, Any]) -> dict[str, Any]:
        if self._task.check_mode:
            return {"skipped": True, "msg": "nothing was installed: nothing is verified in check mode"}
        releases = _releases(given["releases"], images={})
        wait_ready(Api(kubeconfig_path(given["site"])), releases, timeout=given["timeout"])
        return {"changed": False, "releases": []}

    def _store(self, site: str, names: frozenset[str]) -> Store:
        """Return the site's secrets; a prediction makes up in memory what they lack."""
        store = open_store(site, write=False)
        if self._task.check_mode:
            store.ensure(names)
        return store

    def _converge(self, arguments: dict[str, Any], store: Store | None) -> list[ReleaseDiff]:
        check, kubeconfig = bool(self._task.check_mode), kubeconfig_path(arguments["site"])
        charts, processes = arguments["charts"], Processes()
        found = ensure(charts, progress=self._display.display, source=arguments["source"])[charts]
        binary = tool("helm", progress=self._display.display)
        helm = Helm(binary=binary, kubeconfig=kubeconfig, charts=str(found.path), processes=processes)
        try:
            return converge(
                _releases(arguments["releases"], images=arguments["images"], store=store),
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


def _releases(plain: list[Any], *, images: Mapping[str, str], store: Store | None = None) -> list[ReleasePlan]:
    """Return the plan's releases, with image names replaced as in ``images``, and secrets from ``store``."""
    pinned = _pinned(plain, images)
    # Ansible's strings are tagged objects that YAML cannot write: convert to plain ones.
    data = json.loads(json.dumps(store.resolve(pinned) if store else pinned))
    return [ReleasePlan(**{**item, "needs": tuple(item["needs"])}) for item in data]


def _pinned(value: Any, images: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        found = {key: _pinned(item, images) for key, item in value.items()}
        # A chart joins both with a colon: the last one of a digest will do.
        if pin := images.get(f"{value.get('repository')}:{value.get('tag')}"):
            found["repository"], _, found["tag"] = pin.rpartition(":")
        return found
    if isinstance(value, list):
        return [_pinned(item, images) for item in value]
    return images.get(value, value) if isinstance(value, str) else value
