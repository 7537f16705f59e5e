"""The CA's phases: each begins only when hosts, Secrets and servers have ended the one before, and says who has not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import issued
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import USES, Use, file, key_name, needed
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    LeafSpec,
    anew,
    ensure_authority,
    ensure_leaf,
    succession,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import places
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.base import RotationAsked
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds import ca, certificates
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store, fingerprints, replaced
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.rotation import passing
from cryptography import x509

PLAN = make_plan(load_site(str(Path(__file__).parents[3] / "inventories/lab/site.yml")))
EDGE = LeafSpec(user="edge", names=("identity.lab.test",))
HAPROXY = "etc/haproxy/tls/edge.pem"
TRUST = "etc/containerd/certs.d/registry/ca.crt"


class Site:
    """A state directory and hosts with files, which `spread` brings up to date as the layers do."""

    def __init__(self, root: Path) -> None:
        self.root, self.directory, self.uses = root, state_dir(PLAN.site), USES
        self.directory.mkdir(parents=True, exist_ok=True)
        self.store = Store.open(self.directory, PasswordSource(path=root / "password", ours=True), write=False)
        self.settle()
        for name in PLAN.hosts:
            self.spread(name)

    def settle(self, *_: Any, **__: Any) -> dict[str, Any]:
        anew.new_keys(self.store, self.directory, (EDGE,))
        for use in self.uses:
            authority = ensure_authority(self.store, self.directory, site=PLAN.site, use=use)
            if use == "site":
                ensure_leaf(authority, self.store, self.directory, EDGE)
        return {"msg": "settled"}

    def lose(self, use: Use) -> None:
        self.store.forget([key_name(use)])
        (self.directory / file(use)).unlink()
        self.uses = tuple(one for one in USES if one != use)

    def spread(self, *names: str) -> None:
        for name in names:
            for path, source in {HAPROXY: "pki/edge.crt", TRUST: "ca.crt"}.items():
                (self.root / name / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / name / path).write_text((self.directory / source).read_text() + "a key\n")

    def seen(self, *silent: str) -> dict[str, Any]:
        known = {issued._bare(text): name for name, text in succession.published(self.directory).items()}
        return {
            name: {"places": dict(issued._places(known, self.root / name))} for name in PLAN.hosts if name not in silent
        }

    def kind(self, *silent: str, module: Any = ca, force: tuple[str, ...] = ()) -> Any:
        asked = RotationAsked(
            plan=PLAN, site_file="", store=self.store, changes=Changes(check=False), force=force,
            seen=self.seen(*silent),
        )  # fmt: skip
        return module.KIND(asked)

    def leaf(self, name: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.root / name / HAPROXY).read_bytes())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(places, "served", lambda _: iter(()))
    monkeypatch.setattr(places, "of_cluster", lambda *_: [])
    made = Site(tmp_path)
    kubeconfig_path(PLAN.site).touch()
    for module in (ca, certificates):
        monkeypatch.setattr(module, "create", made.settle)
    return made


def test_the_phases_in_order_end_with_the_new_ca_alone(site: Site) -> None:
    hosts, old = tuple(PLAN.hosts), site.leaf(next(iter(PLAN.hosts)))
    for phase in ("both", "use", "drop"):
        found = site.kind().run("check")
        assert found["phases"] == [phase]
        site.kind().run(phase)
        site.spread(*hosts)
        assert site.kind().run("verify")["changed"] is False
    assert len(x509.load_pem_x509_certificates((site.directory / "ca.crt").read_bytes())) == 1
    assert site.leaf(hosts[0]).issuer != old.issuer
    with pytest.raises(GroundupError, match="younger than 30 days"):
        site.kind().run("check")
    assert site.kind(force=("again",)).run("check")["phases"] == ["both"]


def test_a_run_that_was_killed_before_the_layers_brought_a_phase_is_gone_on_with(site: Site) -> None:
    for phase, lacks in {"both": "bundle-missing", "use": "old-still-used", "drop": "old-still-trusted"}.items():
        for _ in range(2):
            assert site.kind().run("check")["phases"] == [phase]
            site.kind().run(phase)
            with pytest.raises(GroundupError, match=f"rotation-open.: .*{lacks}"):
                site.kind().run("verify")
        site.spread(*PLAN.hosts)
        assert site.kind().run("verify")["changed"] is False


def test_a_site_without_monitoring_has_no_ca_of_it_and_misses_none(site: Site) -> None:
    assert needed(monitoring=False, known=()) == USES[:-1]
    assert needed(monitoring=True, known=()) == needed(monitoring=False, known=[key_name("monitoring")]) == USES
    site.lose("monitoring")
    for phase, after in {"both": "both", "use": "new", "drop": "closed"}.items():
        site.kind().run(phase)
        site.spread(*PLAN.hosts)
        assert succession.position(succession.look(site.store, site.directory)) == after
    assert not [name for name in site.store.names() if name.startswith(key_name("monitoring"))]


def test_what_takes_a_changed_certificate_up_is_foreseen_for_every_place() -> None:
    found = {path: places.Place(host="h", path=path, trusts=frozenset()).taken_up for path in issued.PLACES}
    assert [path for path, text in found.items() if not text] == ["/etc/groundup/apt/seed-ca.crt"]  # apt's next start


def test_a_missing_ca_is_named(site: Site) -> None:
    site.lose("galera")
    with pytest.raises(GroundupError, match="no CA of galera yet"):
        site.kind().run("both")


def test_a_new_layer_s_ca_is_no_rotation_of_just_now(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for phase in ("both", "use", "drop"):
        site.kind().run(phase)
        site.spread(*PLAN.hosts)
    later = datetime.now(UTC) + timedelta(days=31)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ARG003  # as its base
            return later

    monkeypatch.setattr(ca, "datetime", Later)
    site.lose("monitoring")
    ensure_authority(site.store, site.directory, site=PLAN.site, use="monitoring", now=later)
    assert site.kind().run("check")["phases"] == ["both"]


def test_a_host_without_the_second_ca_is_named_and_the_second_one_does_not_sign(site: Site) -> None:
    first, *others = PLAN.hosts
    site.kind().run("both")
    site.spread(*others)
    with pytest.raises(GroundupError, match=rf"bundle-missing\) at {first}: /{TRUST}"):
        site.kind().run("use")
    assert succession.position(succession.look(site.store, site.directory)) == "both"


def test_a_host_that_shows_the_old_ca_s_certificate_is_named_and_the_old_one_stays(site: Site) -> None:
    first, *others = PLAN.hosts
    site.kind().run("both")
    site.spread(first, *others)
    site.kind().run("use")
    site.spread(*others)
    with pytest.raises(GroundupError, match=rf"old-still-used\) at {first}: /{HAPROXY}"):
        site.kind().run("drop")
    assert len(x509.load_pem_x509_certificates((site.directory / "ca.crt").read_bytes())) == 2


def test_no_consent_drops_the_old_ca_while_the_cluster_cannot_be_asked(site: Site) -> None:
    for phase in ("both", "use"):
        site.kind().run(phase)
        site.spread(*PLAN.hosts)
    kubeconfig_path(PLAN.site).unlink()  # as on a controller whose state was put back by hand
    with pytest.raises(GroundupError, match="no kubeconfig"):
        site.kind(force=(ca.AWAY,)).run("drop")


def test_no_consent_drops_the_old_ca_while_a_host_is_silent(site: Site) -> None:
    hosts = tuple(PLAN.hosts)
    for phase in ("both", "use"):
        with pytest.raises(GroundupError, match=f"{hosts[0]} did not answer"):
            site.kind(hosts[0]).run(phase)
        site.kind(hosts[0], force=("away",)).run(phase)
        site.spread(*hosts)
    with pytest.raises(GroundupError, match=f"{hosts[0]} did not answer"):
        site.kind(hosts[0], force=("away",)).run("drop")


def test_certificates_are_anew_with_other_keys_and_an_old_one_keeps_it_open(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = PLAN.hosts
    before, known = site.leaf(first), fingerprints(site.store.items())
    later = datetime.fromtimestamp(datetime.now(UTC).timestamp() + 5, UTC).replace(microsecond=0)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ARG003  # as its base
            return later

    monkeypatch.setattr(anew, "datetime", Later)
    from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import leaf

    monkeypatch.setattr(leaf, "datetime", Later)
    site.kind(module=certificates).run("use")
    site.spread(*others)
    with pytest.raises(GroundupError, match=rf"old-still-used\) at {first}: /{HAPROXY}"):
        site.kind(module=certificates).run("drop")
    assert replaced(site.store.items())["pki/edge-key"] == known["pki/edge-key"]
    with pytest.raises(GroundupError, match="rotation-open"):
        site.kind(module=certificates).run("verify")
    site.spread(first)
    site.kind(module=certificates).run("drop")
    site.kind(module=certificates).run("verify")
    assert site.leaf(first).public_key() != before.public_key()
    assert not [name for name in site.store.names() if passing(name)]
    assert anew.since(site.directory) is None
