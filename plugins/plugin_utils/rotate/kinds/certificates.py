"""All leaf certificates now, with new keys: those of the site's CAs, and kubeadm's on the control hosts.

An old certificate stays valid until its end, because nobody asks for lists of revoked ones: where a key has leaked, the
CA is rotated after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from ....module_utils._base.consent import Reason
from ....module_utils._base.text import few
from ...errors import GroundupError
from ...paths import state_dir
from ...pki import anew
from ...pki.authority import BACKDATE, issued_by
from ...pki.succession import fingerprint, look
from ...site_secrets import create
from .. import places
from ..base import Foreseen, Kind
from ..places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPlaces:
    """Since when certificates are to have been issued, and where they are."""

    since: datetime | None
    authorities: tuple[x509.Certificate, ...]
    places: list[Place]
    silent: tuple[str, ...]

    @property
    def old(self) -> list[str]:
        """Return the places that show an older one."""
        return [str(one) for one in self.places if any(map(self._old, one.shows))]

    def _old(self, leaf: x509.Certificate) -> bool:
        issued = leaf.not_valid_before_utc + BACKDATE
        return self.since is not None and issued < self.since and any(issued_by(leaf, one) for one in self.authorities)


class Certificates(Kind[LeafPlaces]):
    """Issue them, have the layers bring them, and see that nobody shows an old one."""

    name = "certificates"
    loses = "a host would go on with a certificate whose key may be known"

    def survey(self) -> LeafPlaces:
        """Return what hosts and cluster have."""
        plan, seen = self.asked.plan, self.asked.seen
        known = tuple(one for ca in look(self.asked.store, state_dir(plan.site)) for one in ca.trusted)
        return LeafPlaces(
            since=anew.since(state_dir(plan.site)),
            authorities=known,
            places=[*places.of_hosts(seen), *places.of_cluster(plan, map(fingerprint, known))],
            silent=tuple(name for name in sorted(plan.hosts) if "places" not in seen.get(name, {})),
        )

    def reasons(self, state: LeafPlaces) -> Iterable[Reason]:
        """Return why not."""
        if state.silent:
            yield Reason(text=f"{few(state.silent)} did not answer: they would keep the old ones")

    def foresee(self, state: LeafPlaces) -> Foreseen:
        """Return where files change."""
        lines = [f"{one} ({one.taken_up})" for one in state.places if one.shows and one.taken_up]
        control = sorted(name for name, host in self.asked.plan.hosts.items() if "control" in host.roles)
        lines += [f"{name}: kubeadm's certificates; its etcd and API restart, one host at a time" for name in control]
        return Foreseen(lines=lines, open=state.since is not None, phases=("use", "drop"), layers=("use",))

    def use(self, state: LeafPlaces) -> None:  # noqa: ARG002  # the frame's
        """Issue them; the layers bring them to the hosts."""
        begun = anew.begin(state_dir(self.asked.plan.site))
        done = create(self.asked.plan, {}, write=True)
        self.asked.changes.add(f"issue certificates since {begun:%Y-%m-%d %H:%M}Z: {done['msg']}")

    def drop(self, state: LeafPlaces) -> None:
        """End it. Raises GroundupError while a host shows an older one."""
        if state.old:
            raise GroundupError(
                f"older certificates are shown (old-still-used) at {few(state.old)}",
                where="rotation of certificates", why=self.loses, remedy="run this again, the layers bring new ones",
            )  # fmt: skip
        anew.end(self.asked.store, state_dir(self.asked.plan.site))

    def remains(self, state: LeafPlaces) -> list[str]:
        """Return what is old; the rotation is open until phase `drop`."""
        if state.since is None:
            return []
        return [f"{few(state.old)} shows an older one"] if state.old else ["it was not ended"]


KIND = Certificates
