"""Open a rollout for a site: its plan, its cluster, its secrets, helm, and the lock of this machine.

The lock is a file in the state directory, held open by this process and every helm it starts. So a new run waits until
the last child of a killed one has ended, and never meets a helm that is still writing. Between controllers, the lease
in the cluster (`apply.lease`) excludes a second run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ...module_utils._base.changes import Changes
from ...module_utils._base.files import write_file
from ...module_utils._base.locks import locked
from ..compose import BUILTIN, for_charts, remote_findings, site_plan, with_images
from ..helm.client import Helm
from ..https import trust_file
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..paths import state_dir
from ..plan.findings import extra_charts
from ..plan.types import Plan
from ..process import Processes
from ..site_secrets import never_generated
from ..supply import tool
from ..supply.publish import digests
from ..supply.publish.digests import PublishedDigests
from ..vault import Redactor, Store, fingerprints, open_store, replaced, required
from ..vault.names import EDGE_KEY, EDGE_NEXT
from .apply import certificates, namespaces
from .engine import Rollout
from .gate import ownership
from .types import RolloutError, RolloutOptions, RolloutResult

_LOCK_WAIT = 120.0  # seconds; a helm told to stop needs far less
TIMES = "rollout-seconds.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A rollout that is ready to run."""

    site_file: str
    plan: Plan
    rollout: Rollout
    redactor: Redactor
    directory: Path
    store: Store
    api: Api | None  # None: there is no cluster yet, and nothing will be changed

    def claim(self, *, write: bool) -> tuple[str, ...]:
        """Return the names of secrets that are new to the cluster. Raises RolloutError for another store."""
        return claim(self.api, self.plan, self.store, write=write) if self.api else self.store.names()

    def certify(self, changes: Changes) -> None:
        """Create or update namespaces of the site's own releases, and the Secrets with pods' certificates.

        Raises GroundupError, ApiError.
        """
        namespaces.place(self.api, self.plan, changes)
        certificates.place(self.api, self.plan, changes, directory=self.directory, secret=self.store.get)

    def prepare(self, changes: Changes) -> None:
        """Prepare the first change: record the secrets' fingerprints in the cluster, `certify`."""
        self.claim(write=True)
        self.certify(changes)

    def remember(self, result: RolloutResult) -> None:
        """Record how long releases took: next time the longest path is known, not guessed."""
        known = _seconds(self.directory)
        known |= {report.name: report.seconds for report in result.releases if report.changed and not result.failed}
        write_file(self.directory / TIMES, json.dumps(known, indent=2).encode() + b"\n", mode=0o644)


def claim(api: Api, plan: Plan, store: Store, *, write: bool) -> tuple[str, ...]:
    """Return the names of secrets whose values are new to the cluster. Raises RolloutError for another store."""
    # A certificate's key may be a former one again.
    values = {name: value for name, value in store.items().items() if name not in (EDGE_KEY, EDGE_NEXT)}
    return ownership.claim(
        api,
        namespace=plan.openstack.namespace,
        identity=store.identity,
        prints=fingerprints(values),
        given=never_generated(plan),
        replaced=replaced(values),
        store=str(store.path),
        write=write,
    )


@contextmanager
def session(
    site_file: str,
    *,
    say: Callable[[str], None],
    options: RolloutOptions | None = None,
    reads_only: bool = False,
    foreseen: Callable[[Plan], PublishedDigests | None] = lambda _: None,
) -> Iterator[Session]:
    """Yield the rollout of the site in ``site_file``.

    ``reads_only``: nothing will be changed, so no lock is taken and the cluster may not exist yet. ``foreseen``
    returns the digests that an earlier layer will publish before the rollout, if it predicted any. Raises SiteError
    and GroundupError for missing parts.
    """
    plan = site_plan(site_file, target=True)  # it is what takes services there
    for one in plan.findings:  # of files, which the inventory has not read: others stop every layer
        if one.severity == "error" and one.name in extra_charts.NAMES:
            raise RolloutError(one.what, where=one.where[0], why=one.why, remedy=one.remedy)
    # The last step before values are rendered: pin image names to the digests that the seed serves.
    record = foreseen(plan) or digests.required(plan.site, seed=plan.supply.seed, dry_run=reads_only)
    plan = with_images(plan, record.pin(plan.supply.images, registry=plan.supply.registry))
    directory = state_dir(plan.site)
    kubeconfig = kubeconfig_path(plan.site)
    processes = Processes()
    store = open_store(plan.site, write=not reads_only)
    if reads_only:
        store.ensure(required(plan))  # in memory only: a prediction for a site not deployed yet
    options = replace(options or RolloutOptions(), seconds=_seconds(directory), site_file=site_file)
    with _lock(directory, say=say, wanted=not reads_only) as lock:
        charts = str(BUILTIN) if plan.openstack.charts == "builtin" else plan.openstack.charts
        binary = tool("helm", progress=say)
        helm = Helm(binary=binary, kubeconfig=kubeconfig, charts=charts, processes=processes, lock=lock)
        if plan.openstack.charts != "builtin":
            plan = for_charts(plan, helm.defaults)
            for one in remote_findings(plan, helm.defaults):
                say(f"{one.where[0]}: {one.what}; {one.remedy}")
        api = None if reads_only and not kubeconfig.is_file() else Api(kubeconfig)
        rollout = Rollout(
            plan=plan,
            api=api,
            helm=helm,
            processes=processes,
            secrets=store,
            authority=trust_file(plan),
            say=say,
            options=options,
        )
        try:
            yield Session(
                site_file=site_file,
                plan=plan,
                rollout=rollout,
                redactor=Redactor(store.items()),
                directory=directory,
                store=store,
                api=api,
            )
        finally:
            processes.stop()


@contextmanager
def _lock(directory: Path, *, say: Callable[[str], None], wanted: bool) -> Iterator[int | None]:
    if not wanted:
        yield None
        return
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / "rollout.lock"
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(locked(path, timeout=0))
        except TimeoutError:
            say("waiting for the children of an earlier rollout to end")
            try:
                handle = stack.enter_context(locked(path, timeout=_LOCK_WAIT))
            except TimeoutError as error:
                raise RolloutError(
                    "another rollout of this site is under way on this machine",
                    where=str(path),
                    why="two at once would undo each other's work",
                    remedy=f"wait for it, or see who holds the lock: fuser {path}",
                ) from error
        yield handle


def _seconds(directory: Path) -> dict[str, float]:
    try:
        known = json.loads((directory / TIMES).read_text())
    except (OSError, ValueError):
        return {}  # times only order releases that could start anyway
    return {str(name): float(value) for name, value in known.items() if isinstance(value, int | float)}
