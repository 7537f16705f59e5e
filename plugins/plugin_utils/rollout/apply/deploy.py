"""Deploy one release: heal, upgrade, watch until it is ready, verify the service. Runs in its own thread."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import GroundupError
from ...health.verification import Check, Verification
from ...helm.client import Helm, why
from ...helm.heal import heal, needs_healing
from ...helm.preview import ChangePreview
from ...helm.records import read
from ...helm.types import LiveRelease
from ...kube.client import Api, ApiError
from ...kube.types import Ref, ref_of, resource_path
from ...kube.workloads import failed, runs, waits_after_crash, waits_for_image
from ...plan.types import ReleasePlan
from ...process import Finished, InterruptedRunError, Processes
from ..diagnose.rules import diagnose, explains
from ..diagnose.symptoms import LogCollector, collect
from ..types import RolloutOptions, Symptom
from .progress import ReleaseProgress
from .readiness import readiness, workloads
from .snapshot import ReleaseSnapshot
from .watch import ClusterView

_GLANCE = 1.0  # seconds between two looks at a changing snapshot
_PAUSE = 3.0  # seconds between two tries of a verification, or of helm
_TRIES = 4  # of helm, while the API server does not answer
_PASSING = re.compile(
    r"connection refused|etcdserver|TLS handshake timeout|\bEOF\b|leader changed|i/o timeout|connection reset by peer|"
    r"client connection lost|in the time allotted|http2: server sent GOAWAY"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployResult:
    """Result of a deployment: it failed when there is a symptom."""

    changed: bool
    verification: Verification = field(default_factory=lambda: Verification(checks=()))
    healed: str = ""
    symptom: Symptom | None = None


class _GivenUpError(Exception):
    def __init__(self, symptom: Symptom) -> None:
        super().__init__(symptom.object)
        self.symptom = symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Tools shared by all deployments."""

    api: Api
    helm: Helm
    view: ClusterView
    progress: ReleaseProgress
    processes: Processes
    options: RolloutOptions
    resolve: Callable[[Mapping[str, Any]], dict[str, Any]]
    ask: Callable[[ReleasePlan], Verification]


def deploy(release: ReleasePlan, preview: ChangePreview, tools: Tools) -> DeployResult:
    """Deploy ``release``; return the result. Raises InterruptedRunError when the run is told to stop."""
    return _Deployment(release, preview, tools).run()


class _Deployment:
    def __init__(self, release: ReleasePlan, preview: ChangePreview, tools: Tools) -> None:
        self.release, self.preview, self.tools = release, preview, tools
        self.rendered = preview.rendered[release.name]
        self.logs = LogCollector(tools.api)
        self.deadline = time.monotonic() + tools.options.start_timeout * release.slowness
        self.first_seen: dict[tuple[str, str], float] = {}
        self.before: set[str] = set()  # uids of jobs that this run of helm makes anew
        self.replaced: set[str] = set()  # pods that were deleted: their state is a former run's

    def run(self) -> DeployResult:
        self.tools.processes.raise_if_stopped()  # it may have waited long for its turn
        healed, changed = "", not self.preview.unchanged(self.release.name)
        without_image = self._without_image()
        try:
            self._run_again()
            if changed:
                healed = self._heal(self.preview.live.get(self.release.name))
                self._upgrade()
            self._pull_again(without_image)
            self._wait_until(lambda: readiness(self.rendered, self.tools.view.snapshot(), hooks_done=True).complete)
            return DeployResult(changed=changed, healed=healed, verification=self._verify())
        except _GivenUpError as given_up:
            return DeployResult(changed=changed, healed=healed, symptom=given_up.symptom)
        except InterruptedRunError:
            raise
        except GroundupError as error:  # of this release alone; raised, it would stop every other helm
            return DeployResult(changed=changed, healed=healed, symptom=self._plain("apply", str(error)))

    def _heal(self, live: LiveRelease | None) -> str:
        self._show("healing" if needs_healing(live) else "applying")
        healed = heal(self.tools.api, self.tools.helm, live, self.rendered)
        if healed:
            self.tools.progress.say(f"{self.release.name}: {healed}")
        return healed

    def _upgrade(self) -> None:
        """Run helm and watch its hooks. Retry while the API server is restarting, or another takes its place."""
        done = self._helm_once()
        for _ in range(1, _TRIES):
            if not (done.code and _PASSING.search(done.stderr)):
                break
            self.tools.progress.say(f"{self.release.name}: {why(done)}; once more")
            time.sleep(_PAUSE)
            self.tools.processes.raise_if_stopped()
            # Heal what the first try left: helm refuses to upgrade it, or upgrades without the install's hooks.
            found = read(self.tools.api, [self.release.namespace])
            self._heal(found.get((self.release.namespace, self.release.name)))
            done = self._helm_once()
        if done.code:
            # A pod that is only starting explains nothing: then report helm's error.
            seen = map(self.logs.complete, self._found(self.tools.view.snapshot()))
            explained = next((symptom for symptom in seen if explains(symptom)), None)
            raise _GivenUpError(explained or self.logs.complete(self._plain("apply", why(done))))
        self.tools.view.refresh(self.release.namespace)

    def _without_image(self) -> dict[str, Ref]:
        snapshot = self.tools.view.snapshot()
        owners = [ref for ref in workloads(self.rendered, hooks=False) if ref.kind != "Job"]
        pods = [pod for owner in owners for pod in snapshot.pods(owner) if waits_for_image(pod) and not runs(pod)]
        return {str(pod["metadata"]["uid"]): ref_of(pod) for pod in pods}

    def _pull_again(self, before: Mapping[str, Ref]) -> None:
        """Delete pods that an earlier run left without an image and with no running container: they are recreated.

        The kubelet retries only every five minutes, and a StatefulSet replaces pods one by one, each when the one
        before is ready: members of a cluster that wait for each other never are.
        """
        still = self._without_image()
        for uid, ref in before.items():
            if uid in still:
                self._make_anew(ref, uid, "had no image")

    def _run_again(self) -> None:
        """Delete pods of jobs that an earlier run left between two tries, up to five minutes apart: they are recreated.

        Only of jobs that the release still has: the migration of another image is not to run now.
        """
        snapshot = self.tools.view.snapshot()
        jobs = [ref for ref in workloads(self.rendered, hooks=False) if ref.kind == "Job"]
        for pod in [pod for job in jobs for pod in snapshot.pods(job) if waits_after_crash(pod)]:
            self._make_anew(ref_of(pod), str(pod["metadata"]["uid"]), "waited for its next try")
            self.replaced.add(str(ref_of(pod)))

    def _make_anew(self, ref: Ref, uid: str, why: str) -> None:
        path = resource_path("v1", "pods", namespace=ref.namespace, name=ref.name)
        try:
            self.tools.api.delete(path, body={"preconditions": {"uid": uid}})
        except ApiError as error:
            if error.status != 409:  # another pod has its name by now
                raise
        self.tools.progress.say(f"{self.release.name}: {ref.name} {why}: made anew")

    def _helm_once(self) -> Finished:
        cancel = threading.Event()
        self.before = self._left_jobs()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"helm-{self.release.name}") as pool:
            running: Future[Finished] = pool.submit(
                self.tools.helm.upgrade,
                self.release,
                self.tools.resolve(self.release.values),
                digest=self.rendered.digest,
                timeout=round(self.tools.options.hook_timeout * self.release.slowness),
                cancel=cancel,
            )
            running.add_done_callback(lambda _: self.tools.view.wake())
            try:
                self._wait_until(running.done, hooks=True)
            finally:
                cancel.set()
            return running.result()

    def _wait_until(self, done: Callable[[], bool], *, hooks: bool = False) -> None:
        seen = -1
        while not done():
            self.tools.processes.raise_if_stopped()
            seen = self.tools.view.wait(seen, timeout=5.0)
            self._look(hooks=hooks)
            if time.monotonic() > self.deadline:
                raise _GivenUpError(self._worst("it did not become ready in time"))
            # Many changes come at once: one look at all of them is enough.
            time.sleep(_GLANCE if not done() else 0)

    def _look(self, *, hooks: bool) -> None:
        snapshot = self.tools.view.snapshot()
        now = readiness(self.rendered, snapshot, hooks_done=not hooks)
        trouble = f"the API cannot be watched: {self.tools.view.trouble}" if self.tools.view.trouble else ""
        self._show("applying" if hooks else "starting", now.ready, now.total, trouble or now.waiting_for)
        found = self._found(snapshot)
        self.logs.record(found)
        self._lose_patience(found)

    def _found(self, snapshot: ReleaseSnapshot) -> list[Symptom]:
        """Return current symptoms, without those of jobs and pods of earlier runs that are made anew."""
        jobs = {(ref.namespace, str(ref)): uid for ref, uid in self._jobs(snapshot).items()}
        return [
            symptom
            for symptom in collect(self.rendered, snapshot)
            if jobs.get((symptom.namespace, symptom.owner)) not in self.before and symptom.object not in self.replaced
        ]

    def _left_jobs(self) -> set[str]:
        """Return the uids of jobs of earlier runs: helm makes hooks anew in their turn, and failed ones (see heal)."""
        snapshot = self.tools.view.snapshot()
        hooks = {ref_of(hook, namespace=self.release.namespace) for hook in self.rendered.hooks}
        jobs = self._jobs(snapshot)
        return {uid for ref, uid in jobs.items() if ref in hooks or failed(snapshot.objects[ref])}

    def _jobs(self, snapshot: ReleaseSnapshot) -> dict[Ref, str]:
        """Return the jobs of this release that are there, with their uids."""
        refs = [ref for ref in workloads(self.rendered) if ref.kind == "Job" and ref in snapshot.objects]
        return {ref: str(snapshot.objects[ref]["metadata"]["uid"]) for ref in refs}

    def _lose_patience(self, found: list[Symptom]) -> None:
        """Give up on a symptom that does not resolve by itself, once it lasted as long as its rule's patience."""
        current: dict[tuple[str, str], float] = {}
        for symptom in found:
            full = self.logs.complete(symptom) if symptom.exit_code else symptom
            diagnosis = diagnose(full)
            if diagnosis.patience is None:
                continue
            key = (diagnosis.rule, diagnosis.object)
            current[key] = self.first_seen.get(key, time.monotonic())
            if time.monotonic() - current[key] >= diagnosis.patience * self.tools.options.patience:
                raise _GivenUpError(self.logs.complete(symptom))
        self.first_seen = current

    def _verify(self) -> Verification:
        end = time.monotonic() + self.tools.options.verify_timeout
        while True:
            self._show("verifying")
            verification = self.tools.ask(self.release)
            if verification.ok:
                return verification
            failed = next((check for check in verification.checks if not check.ok), None)
            self._show("verifying", waiting=f"{failed.name}: {failed.detail}" if failed else "")
            # A refused password stays refused, and a service locks an account after too many tries.
            refused = failed is not None and failed.layer == "credentials"
            if refused or time.monotonic() > end:
                raise _GivenUpError(self._plain("verify", "", checks=verification.checks))
            self.tools.processes.raise_if_stopped()
            time.sleep(_PAUSE)

    def _worst(self, message: str) -> Symptom:
        found = self._found(self.tools.view.snapshot())
        if not found:
            return self._plain("start", message)
        worst = self.logs.complete(found[0])
        return replace(worst, message=worst.message or message)

    def _plain(self, stage: Any, message: str, *, checks: tuple[Check, ...] = ()) -> Symptom:
        return Symptom(
            release=self.release.name, namespace=self.release.namespace, object=f"release {self.release.name}",
            stage=stage, message=message, checks=checks, facts=self.tools.view.snapshot().facts,
        )  # fmt: skip

    def _show(self, state: Any, ready: int = 0, total: int = 0, waiting: str = "") -> None:
        self.tools.progress.update(self.release.name, state, ready=ready, total=total, waiting_for=waiting)
