"""Verify the releases of a plan, and the site as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...health.context import Verifier, VerifierContext
from ...health.verification import Check, Verification
from ...helm.ready import waiting
from ...https import UnansweredError
from ...kube.client import Api, ApiError
from ...plan.types import Plan, ReleasePlan
from ...progress import Progress, no_progress
from ...services import RECORDS, keystone
from .catalog import leave_catalog, verify_catalog

_PAUSE = 3.0  # seconds between two checks of the catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifiers:
    """Verifiers of a cloud. ``resolve`` puts secrets into values; ``authority``: certificate of the site's CA."""

    plan: Plan
    cluster: Callable[[], Api]
    resolve: Callable[[Mapping[str, Any]], dict[str, Any]]
    authority: Path

    def ask(self, release: ReleasePlan) -> Verification:
        """Verify a release by the verifier in its record; without one by its workloads alone."""
        verifier = None if release.verify == "workloads" else RECORDS[release.verify].verify
        return self._asked(verifier or _workloads, release)

    def timed(self, release: ReleasePlan) -> tuple[Verification, float]:
        """Verify a release; return the verification and the seconds it took."""
        started = time.monotonic()
        verification = self.ask(release)
        return verification, round(time.monotonic() - started, 1)

    def ask_site(
        self, *, patience: float, go_on: Callable[[], object], say: Progress = no_progress
    ) -> Verification | None:
        """Return whether catalog, edge and cluster agree; retry for ``patience`` seconds until they do.

        None for a site without its own Keystone. ``go_on`` is called between two tries, and raises to end them.
        ``say``: what is waited for, whenever that is something else.
        """
        if (release := self._keystone()) is None:
            return None
        end, before = time.monotonic() + patience, ""
        while not (found := self._asked(verify_catalog, release)).ok and time.monotonic() < end:
            go_on()
            if (lacking := next(one.detail for one in found.checks if not one.ok)) != before:
                say(f"not yet: {lacking}")
                before = lacking
            time.sleep(_PAUSE)
        return found

    def leave_catalog(self, service: str) -> None:
        """Delete the catalog's entry of a service that is about to be removed. Raises RolloutError."""
        if (release := self._keystone()) is not None:
            leave_catalog(self.context(release), service)

    def _keystone(self) -> ReleasePlan | None:
        return next((one for one in self.plan.openstack.releases if one.verify == keystone.SERVICE.name), None)

    def context(self, release: ReleasePlan) -> VerifierContext:
        """Return the access to a release."""
        return VerifierContext(
            api=self.cluster(), plan=self.plan, release=release, values=self.resolve(release.values),
            authority=self.authority,
        )  # fmt: skip

    def _asked(self, verifier: Verifier, release: ReleasePlan) -> Verification:
        try:
            return verifier(self.context(release))
        except ApiError as error:
            return Verification(checks=(Check(name="api", ok=False, detail=error.what, layer="network"),))
        except UnansweredError as error:
            detail = f"{error.what} ({error.where})"
            return Verification(checks=(Check(name="answer", ok=False, detail=detail, layer="network"),))


def _workloads(context: VerifierContext) -> Verification:
    """Return whether every workload of a release is ready."""
    why = waiting(context.api, context.release)
    detail = why or f"{context.release.name}: all ready"
    return Verification(checks=(Check(name="workloads", ok=not why, detail=detail, layer="service"),))
