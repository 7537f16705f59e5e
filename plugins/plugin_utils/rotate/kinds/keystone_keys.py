"""Keystone's Fernet keys (of tokens) and credential keys, now: the jobs of its cron jobs.

A key is staged before it signs, and verifies after it has signed: all pods have the new one beforehand, and tokens live
on. So the phases are in the keys themselves, and one rotation moves them on by one. A leaked repository is out of use
after as many rotations as it has keys (max_active_keys: of Fernet by the life of a token, of credentials 3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ....module_utils._base.consent import Reason
from ....module_utils._base.wait import wait_until
from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.objects import MANAGER
from ...kube.types import Object, resource_path
from ...kube.workloads import condition, failed
from ..base import Foreseen, Kind
from ..usage import changed

_JOBS = {"fernet": "keystone-fernet-rotate", "credential": "keystone-credential-rotate"}
_LABEL = "openstack.groundup.cloud/rotation"
_MOUNTED = 300.0  # seconds for the kubelet to bring a changed Secret into every pod; it takes about one minute
_KEPT = 3600  # seconds that a job that ended can be looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class KeystoneKeysState:
    """What there is."""

    cron: dict[str, Object]  # kind of keys -> its cron job
    age: dict[str, float]  # kind of keys -> seconds since they changed
    running: dict[str, str]  # kind of keys -> job that an earlier run began


class KeystoneKeys(Kind[KeystoneKeysState]):
    """Rotate them."""

    name = "keystone-keys"
    loses = "a key that not every pod has yet would sign tokens"

    @property
    def _api(self) -> Api:
        return Api(kubeconfig_path(self.asked.plan.site))

    def _path(self, api: str, kind: str, name: str = "") -> str:
        return resource_path(api, kind, namespace=self.asked.plan.openstack.namespace, name=name)

    def survey(self) -> KeystoneKeysState:
        """Return cron jobs, keys and jobs. Raises GroundupError for a kind of keys that there is none of."""
        only = self.asked.only or tuple(_JOBS)
        if unknown := sorted(set(only) - set(_JOBS)):
            raise GroundupError(
                f"{', '.join(unknown)}: no keys of Keystone", where="the variable rotate_only",
                why="what is named must be what is rotated", remedy=f"one of {', '.join(_JOBS)}",
            )  # fmt: skip
        api, now = self._api, datetime.now(UTC)
        found = {what: api.find(self._path("batch/v1", "cronjobs", _JOBS[what])) for what in only}
        cron = {what: one for what, one in found.items() if one}
        secrets = {what: api.get(self._path("v1", "secrets", f"keystone-{what}-keys")) for what in cron}
        begun = api.get(self._path("batch/v1", "jobs"), labelSelector=_LABEL)["items"]
        return KeystoneKeysState(
            cron=cron,
            age={what: (now - datetime.fromisoformat(changed(one))).total_seconds() for what, one in secrets.items()},
            running={
                one["metadata"]["labels"][_LABEL]: str(one["metadata"]["name"])
                for one in begun if condition(one, "Complete") != "True" and not failed(one)
            },
        )  # fmt: skip

    def reasons(self, state: KeystoneKeysState) -> Iterable[Reason]:
        """Return why not."""
        if not state.cron:
            yield Reason(text="the cluster has no cron job that rotates Keystone's keys")

    def foresee(self, state: KeystoneKeysState) -> Foreseen:
        """Return the keys."""
        lines = [f"Keystone's {what} keys: the next one signs, the oldest goes; no pod restarts" for what in state.cron]
        return Foreseen(lines=lines, open=bool(state.running))

    def use(self, state: KeystoneKeysState) -> None:
        """Run the jobs, one after another; go on with those that run. Raises GroundupError when one fails."""
        for what, cron in state.cron.items():
            job = state.running.get(what)
            if not job:
                self._refuse_young(what, state.age[what])
                job = self._begin(what, cron)
                self.asked.changes.add(f"Keystone's {what} keys rotated by Job/{job}")
            self._finish(job)

    def remains(self, state: KeystoneKeysState) -> list[str]:
        """Return the jobs that run."""
        return [f"Job/{name} runs" for what, name in state.running.items() if what in state.cron]

    def next_steps(self) -> str:
        """Return what a leak asks for."""
        return "After a leak: again, until every key of then is gone; see docs/rotation.md"

    def _refuse_young(self, what: str, age: float) -> None:
        if age < _MOUNTED:
            raise GroundupError(
                f"Keystone's {what} keys changed {age:.0f} s ago",
                where=f"Secret/keystone-{what}-keys", why="not every pod may have the key that would sign now",
                remedy=f"run this again in {_MOUNTED - age:.0f} s",
            )  # fmt: skip

    def _begin(self, what: str, cron: Object) -> str:
        name = f"{_JOBS[what]}-{datetime.now(UTC):%Y%m%d%H%M%S}"
        template = cron["spec"]["jobTemplate"]
        labels = {**(template.get("metadata") or {}).get("labels", {}), _LABEL: what}
        body = {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels},
            "spec": {**template["spec"], "ttlSecondsAfterFinished": _KEPT},
        }  # fmt: skip
        self._api.apply(self._path("batch/v1", "jobs", name), body, manager=MANAGER)
        return name

    def _finish(self, name: str) -> None:
        """Wait for a job. Raises GroundupError when it fails, or does not end."""
        api, found = self._api, dict[str, Object]()

        def runs() -> bool:
            found["job"] = api.get(self._path("batch/v1", "jobs", name))
            return condition(found["job"], "Complete") != "True" and not failed(found["job"])

        late = wait_until(runs, timeout=self.asked.timeout, pause=2.0)
        if late or failed(found["job"]):
            raise GroundupError(
                f"Job/{name} {'did not end' if late else 'failed'}",
                where=f"namespace {self.asked.plan.openstack.namespace}",
                why="the keys are those of before, or not everything stored is encrypted with the newest",
                remedy=f"look at its log (kubectl logs job/{name}), then run this again: it goes on",
            )  # fmt: skip


KIND = KeystoneKeys
