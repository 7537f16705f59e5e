"""Action of module groundup.cloud.node: what the controller knows of the site's cluster, and the run's lease."""

from __future__ import annotations

from functools import partial
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions import StepAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.hosts import spared
from ..plugin_utils.kube import run_lease
from ..plugin_utils.kube.access import check_cluster, differs, keep, known_ca, kubeconfig_path
from ..plugin_utils.kube.membership import decide
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import anew
from ..plugin_utils.rotate.at_rest import SecretsKeys
from ..plugin_utils.vault import open_store
from ..plugin_utils.vault.names import ENCRYPTION_KEY

_CONVERGES = ("maintain", "restart", "encrypt", "join")
_UPGRADES = ("upgrade_wake", "upgrade_stage", "upgrade_control", "upgrade_record", "upgrade_kubelet")


class ActionModule(StepAction):
    """Run the step on the host, which is told the recorded cluster's CA. The kubeconfig stays out of results."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result. Raises GroundupError."""
        step, site = given["step"], given["site"]
        if step == "decide":
            return {"changed": False, "ca": decide(given["answers"], first=given["first"], known=known_ca(site))}
        if site and not given["expected_ca"]:
            given["expected_ca"] = known_ca(site)
        if step == "access":
            return self._access(given)
        if step == "leave_etcd":
            return self._leave_etcd(given)
        return self._converge(given) if step in (*_CONVERGES, *_UPGRADES) else super().work(given)

    def _converge(self, given: dict[str, Any]) -> dict[str, Any]:
        """Converge the node; a worker that fails is set aside, a control host never: the next steps depend on it.

        In an upgrade nobody is: a lost connection fails the task, so that its rescue names the step.
        """
        control, upgrades = given["role"] == "control", given["step"] in _UPGRADES
        if control:
            _from_state(given)
        works = control or given["step"] == "upgrade_kubelet"
        warnings = run_lease.of_site(given["site"]) if works and not self.changes.check else []
        step, spare = partial(super().work, given), not (control or upgrades or self.changes.check)
        done = spared(step, self.variables, layer="kubernetes", spare=spare)
        if "aside" in done:
            done |= {"joins": False, "due": []}
        if warnings:
            done["warnings"] = [*done.get("warnings", ()), *warnings]
        return done

    def _access(self, given: dict[str, Any]) -> dict[str, Any]:
        """Store the kubeconfig, and return the result without it."""
        site, host, check = given["site"], given["name"], self.changes.check
        result: dict[str, Any] = {"kubeconfig": str(kubeconfig_path(site))}
        try:
            if not check:
                run_lease.of_site(site)
            result |= super().work(given)
            content = result.pop("content", None)
            if content and not result.get("failed"):
                check_cluster(site, content, host=host)
                written = differs(site, content) if check else keep(site, content, host=host)
                result["changed"] = bool(result.get("changed")) | written
                if written and not check:  # the cluster is new to this controller: the lease, before nodes join
                    run_lease.of_site(site)
        except (GroundupError, OSError) as error:
            result |= {"failed": True, "msg": str(error)}
        if result.get("failed") and "module_stdout" not in result:
            # `no_log` also hides why it failed; without it, -vvv would show the kubeconfig from the connection.
            # The module's own message has no secret; any other output (module_stdout) may have one.
            self._display.error(f"{host}: {result['msg']}", wrap_text=False)
        return result

    def _leave_etcd(self, given: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().work(given)
        except AnsibleConnectionFailure as error:
            raise GroundupError(
                f"{given['name']} cannot be reached: {' '.join(str(error).split())}",
                where=f"host {given['name']}, a control host that stays",
                why=f"the etcd member of {given['member']} is removed from there",
                remedy="bring it back, then run this again",
            ) from error


def _from_state(given: dict[str, Any]) -> None:
    """Fill in what the controller knows of control hosts: keys of Secrets at rest, and since when certificates last."""
    site = given["site"]
    if not given["encryption_keys"]:
        store = open_store(site, write=False)
        store.ensure([ENCRYPTION_KEY])  # in memory: a prediction for a site not deployed yet
        keys = SecretsKeys.of(store)
        given["encryption_keys"], given["encryption_order"] = keys.secrets(), given["encryption_order"] or keys.order()
    if begun := anew.since(state_dir(site)):
        given["issued_since"] = begun.timestamp()
