"""Action of module groundup.cloud.backup_set: what hosts hand over or put back is done there, all else here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import StepAction
from ..plugin_utils.backup.sets import handed
from ..plugin_utils.compose import with_values
from ..plugin_utils.plan import Plan, load_site
from ..plugin_utils.upgrade.journal import live_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..plugin_utils.backup.restore.job import RestoreJob

_ON_HOST = ("etcd_look", "etcd_stop", "etcd_leave")
_RESTORE = ("decide", "state", "mariadb", "services", "restart", "compare", "end", "etcd_put", "keys_put")


class ActionModule(StepAction):
    """Run one step."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        self._play_context.no_log = True  # with -vvv the connection would show the keys
        step = given["step"]
        if step in _ON_HOST:
            return self._host(step, given)
        plan = live_plan(load_site(given["site_file"]))
        if step == "hand":
            name = self.variables["inventory_hostname"]
            return handed.hand(
                plan, name, lambda part, options: self.on_host(step="hand", given={"part": part, **options})
            )
        given["site_force"] = self.variables.get("site_force") or ()
        site_identity.refuse_other(plan, given["site_force"])
        if step in _RESTORE:
            from ..plugin_utils.backup.restore.job import RestoreJob  # late: every control host is asked first

            return self._restore(RestoreJob(plan, given, self.changes, say=self._display.display), given)
        from ..plugin_utils.backup.sets import timer
        from ..plugin_utils.backup.sets.job import BackupJob  # late: hosts are asked first

        if step == "timer":
            timer.converge(plan, given["site_file"], self.changes)
            return self.changes.result()
        job = BackupJob(plan, given, self.changes)
        steps: dict[str, Callable[[], dict[str, Any]]] = {
            "take": lambda: job.take(self._said(plan)), "test": lambda: job.test(say=self._display.display),
            "upload": job.upload, "verify": job.verify, "open": job.open,
            "ship": lambda: job.ship(say=self._display.display),
        }  # fmt: skip
        return steps[step]()

    def _restore(self, job: RestoreJob, given: dict[str, Any]) -> dict[str, Any]:
        step = given["step"]
        if step == "decide":
            return job.decide(given["answers"])
        if step == "compare":
            return job.compare(given["domains"])
        if step == "keys_put":
            return self._host(step, given, content=job.keys())
        if step == "etcd_put":
            return self._put(job, given)
        if step == "mariadb":
            from ..plugin_utils.rotate.restored import statements  # late: hosts are asked first

            return job.mariadb(lambda plan, store: statements(with_values(plan), store))
        steps = {"state": job.state, "services": job.services, "restart": job.restart, "end": job.end}
        return steps[step]()

    def _put(self, job: RestoreJob, given: dict[str, Any]) -> dict[str, Any]:
        """Send snapshot and etcdutl to the host, which removes them with its directory of this task."""
        with job.snapshot() as files:
            place = self._make_tmp_path()
            sent = [
                self._transfer_file(str(file), self._connection._shell.join_path(place, file.name)) for file in files
            ]
            self._fixup_perms2([place, *sent], execute=True)
            return self._host("etcd_put", given, snapshot=sent[0], program=sent[1])

    def _host(self, step: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
        own = {name: given[name] for name in ("restore", "api", "source")}
        own |= {"name": self.variables["inventory_hostname"], "site": self.variables["groundup_site"]["site"]}
        return self.on_host(step=step, given={**own, **more})

    def _said(self, plan: Plan) -> dict[str, dict[str, Any]]:
        """Return what hosts handed over in this run."""
        said = ((host, self.variables["hostvars"].get(host) or {}) for host in plan.hosts)
        return {host: found[handed.RESULT] for host, found in said if handed.RESULT in found}
