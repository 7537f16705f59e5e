"""The site's CAs, all of them. One phase a run: between two, people and machines elsewhere get the file of CAs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509

from ....module_utils._base.consent import Reason
from ....module_utils._base.text import few
from ...errors import GroundupError
from ...https import trust_file
from ...kube.access import kubeconfig_path
from ...paths import state_dir
from ...pki import succession
from ...pki.authority import issued_by, named_for
from ...pki.succession import Position, Succession, fingerprint
from ...site_secrets import create
from ...vault.names import FINGERPRINTS_KEY
from .. import places
from ..base import Foreseen, Kind, Phase
from ..places import Place

AGAIN, AWAY = "again", "away"
NO_CLUSTER = "the cluster (the state directory has no kubeconfig)"
YOUNG = timedelta(days=30)
_NEXT: Mapping[Position, Phase] = {"closed": "both", "both": "use", "new": "drop"}
# The phase whose files hosts lack when a run was killed before the layers brought them.
_LAST: Mapping[Position, Phase] = {"closed": "drop", "both": "both", "new": "use"}
_DOES: Mapping[Phase, str] = {
    "both": "a second one is trusted beside it, and signs nothing yet",
    "use": "the second one signs, and every certificate is issued again",
    "drop": "the first one is trusted no more",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaPlaces:
    """The CAs, and where their certificates are."""

    site: str
    found: tuple[Succession, ...]
    position: Position
    places: list[Place]
    silent: tuple[str, ...]  # hosts that said nothing

    @property
    def lacking(self) -> list[str]:
        """Return the places that trust one of two CAs."""
        pairs = [frozenset(map(fingerprint, one.trusted)) for one in self.found]
        return [str(one) for one in self.places if any(one.trusts & pair and not pair <= one.trusts for pair in pairs)]

    @property
    def late(self) -> list[str]:
        """Return the places that show a certificate of a CA that leaves."""
        return [str(one) for one in self.places if any(ca.former(leaf) for ca in self.found for leaf in one.shows)]

    @property
    def left(self) -> list[str]:
        """Return the places that have a CA of before the last rotation."""
        return [str(one) for one in self.places if any(map(self._left, one.shows))]

    @property
    def unfinished(self) -> list[str]:
        """Return what the layers have not brought of the last phase."""
        where, what = {
            "both": (self.lacking, "the CA that is to sign is not trusted (bundle-missing)"),
            "new": (self.late, "certificates of the CA that leaves are shown (old-still-used)"),
            "closed": (self.left, "a CA that left is trusted (old-still-trusted)"),
        }[self.position]
        return [f"{what} at {few(where)}"] if where else []

    @property
    def phase(self) -> Phase:
        """Return the phase of this run: the last one again while it is not finished."""
        return (_LAST if self.unfinished else _NEXT)[self.position]

    def refuse_unfinished(self, position: Position) -> None:
        """Raise GroundupError at ``position`` while its phase is not finished."""
        if self.position == position and self.unfinished:
            raise GroundupError(
                "; ".join(self.unfinished), where="rotation of ca", why=Authorities.loses,
                remedy="run this again: the layers bring that phase first",
            )  # fmt: skip

    def _left(self, one: x509.Certificate) -> bool:
        known = [ca for found in self.found for ca in found.trusted]
        return named_for(one, self.site) and not any(issued_by(one, ca) for ca in known)


class Authorities(Kind[CaPlaces]):
    """Rotate them. The CAs of Kubernetes are kubeadm's, and are not rotated here (docs/rotation.md)."""

    name = "ca"
    loses = "whoever trusts the other CA alone refuses the connection"
    codes = (AGAIN, AWAY)

    def survey(self) -> CaPlaces:
        """Return the CAs of the store, and what hosts, cluster and servers have."""
        plan, seen = self.asked.plan, self.asked.seen
        found = succession.look(self.asked.store, state_dir(plan.site))
        known = [fingerprint(one) for ca in found for one in ca.trusted]
        there = [*places.of_hosts(seen), *places.of_cluster(plan, known)]
        silent = [name for name in sorted(plan.hosts) if "places" not in seen.get(name, {})]
        if any(host.node_labels for host in plan.hosts.values()) and not kubeconfig_path(plan.site).is_file():
            silent.append(NO_CLUSTER)
        position = succession.position(found)
        if position == "new":
            for server, leaf in places.served(plan):
                there += [Place(host=server, path="TLS", trusts=frozenset(), shows=(leaf,))] if leaf else []
                silent += [] if leaf else [server]
        return CaPlaces(site=plan.site, found=found, position=position, places=there, silent=tuple(silent))

    def reasons(self, state: CaPlaces) -> Iterable[Reason]:
        """Return why the next phase may not begin."""
        if state.silent:  # a machine that is not installed yet will get both; none may be forgotten at the end
            code = None if state.position == "new" else AWAY
            yield Reason(text=f"{few(state.silent)} did not answer: what they trust is not known", code=code)
        monitoring = self.asked.plan.monitoring is not None
        if lacking := succession.lacking(state.found, self.asked.store, monitoring=monitoring):
            yield Reason(text=f"the site has no CA of {few(lacking)} yet: run the layers first")
        elif state.position == "closed" and not state.unfinished and self._young(state):
            yield Reason(text=f"the CA is younger than {YOUNG.days} days: was it rotated just now?", code=AGAIN)

    def foresee(self, state: CaPlaces) -> Foreseen:
        """Return the phase, the CAs, and where files change."""
        phase = state.phase
        lines = [f"CA of {one.use}: {_DOES[phase]}" for one in state.found]
        for one in state.places:
            if one.taken_up and (one.shows if phase == "use" else one.trusts):
                lines.append(f"{one} ({one.taken_up})")
        return Foreseen(
            lines=lines, open=phase != "both" or state.position != "closed", phases=(phase,), layers=(phase,)
        )

    def both(self, state: CaPlaces) -> None:  # noqa: ARG002  # the frame's
        """Make the second ones."""
        succession.begin(self.asked.store)
        self._settle()

    def use(self, state: CaPlaces) -> None:
        """Have the second ones sign. Raises GroundupError while a place does not trust them."""
        state.refuse_unfinished("both")
        succession.switch(self.asked.store)
        self._settle()

    def drop(self, state: CaPlaces) -> None:
        """Take the first ones away. Raises GroundupError while a place shows a certificate of theirs."""
        state.refuse_unfinished("new")
        succession.drop(self.asked.store, state_dir(self.asked.plan.site))
        self._settle()

    def remains(self, state: CaPlaces) -> list[str]:
        """Return what keeps the next phase from beginning."""
        return [one.text for one in self.reasons(state) if one.code != AGAIN] + state.unfinished

    def next_steps(self) -> str:
        """Return what to do before the next phase."""
        store, plan = self.asked.store, self.asked.plan
        position = succession.position(succession.look(store, state_dir(plan.site)))
        again = "then run this again"
        return {
            "both": f"Give {trust_file(plan)} to everybody outside who trusts the site's CA; {again}: the second one "
            "will sign",
            "new": f"See that nobody outside shows or expects the first one; {again}: it is dropped",
            "closed": "",
        }[position]

    def _settle(self) -> None:
        """Write files and leaves as every run does; the layers bring them to the hosts."""
        done = create(self.asked.plan, {}, write=True)
        self.asked.changes.add(str(done["msg"]))

    def _young(self, state: CaPlaces) -> bool:
        # Those of other uses may be of a layer that is new.
        made = max(one.not_valid_before_utc for ca in state.found if ca.use == "site" for one in ca.signs)
        return FINGERPRINTS_KEY in self.asked.store.names() and datetime.now(UTC) - made < YOUNG  # it was rotated


KIND = Authorities
