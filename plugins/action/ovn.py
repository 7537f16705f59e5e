"""Action of module groundup.cloud.ovn: the controller knows the site's clusters, and records new ones."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import StepAction
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.ovn import clients, clusters, record


class ActionModule(StepAction):
    """Run the step on the host with the clusters of the record; decide about new ones here."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        site = given["site"]
        known = record.known(site)
        if given["step"] == "decide":
            return self._decide(given, known)
        if given["step"] == "follow":
            return self._follow(given, known)
        if self.changes.check:  # `decide` has not forgotten them
            known = {short: cluster for short, cluster in known.items() if short not in given["create"]}
        done = super().work({**given, "clusters": known})
        if not done.get("failed") and not self.changes.check:
            record.keep(site, done.get("databases") or {})
        return done

    def _decide(self, given: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
        """Return which clusters to make. With consent, the record forgets those that no control host has a part of."""
        asked = {"hosts": given["hosts"], "known": known}
        lost = clusters.lost(given["answers"], **asked) if clusters.NEW_CLUSTER in given["force"] else []
        if lost and (kubeconfig := kubeconfig_path(given["site"])).is_file():
            clients.remember(Api(kubeconfig), given["secret"], known, self.changes)
        for short in lost:
            if self.changes.add(f"forget the cluster {known[short]} of OVN's database {short}, which is lost"):
                record.forget(given["site"], short)
            asked["known"] = {name: cluster for name, cluster in asked["known"].items() if name != short}
        return {**self.changes.result(), "create": clusters.decide(given["answers"], **asked)}

    def _follow(self, given: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
        kubeconfig = kubeconfig_path(given["site"])
        if kubeconfig.is_file() or not self.changes.check:
            clients.follow(Api(kubeconfig), given["secret"], known, self.changes)
        return self.changes.result()
