"""The operator's own certificate: pair and store, the bundle of CAs, and what clients are told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action.rollout import _access
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import access
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import trust_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import PkiError, users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan, pem
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.certificates import _data
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutResult
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.record import PodCertificate
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.certificates import Issued, issue
from cryptography.hazmat.primitives import serialization

LAB = Path(__file__).parents[3] / "inventories/lab/site.yml"
ROOT = issue("root", ca=True)
OTHER = issue("other", ca=True)
LEAF, NEXT = (issue(name, ROOT, names=["*.lab.test"]) for name in ("leaf", "next"))
Site = Callable[..., Path]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a function that writes a site file with the fields; state and configuration are the test's."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)

    def write(leaf: Issued | None = LEAF, cas: tuple[Issued, ...] = (ROOT,)) -> Path:
        data = yaml.safe_load(LAB.read_text())
        place = tmp_path / "site"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if leaf:
            data["edge"] = {"certificate": "public.pem"}
            (place / "public.pem").write_text(leaf.pem)
        if cas:
            data["hosts"] = {"trusted_cas": ["cas.pem"]}
            (place / "cas.pem").write_text("".join(one.pem for one in cas))
        (place / "site.yml").write_text(yaml.safe_dump(data))
        return place / "site.yml"

    return write


def planned(path: Path) -> Plan:
    plan = make_plan(load_site(path))
    assert not [one for one in plan.findings if one.severity == "error"]
    return plan


def create(path: Path, *, write: bool = True, edge_key: str = "", **given: str) -> dict[str, Any]:
    values = {name.replace("_", "/"): text for name, text in given.items()}
    return site_secrets.create(planned(path), values | ({"edge/key": edge_key} if edge_key else {}), write=write)


def test_the_key_is_kept_when_it_belongs_and_a_second_run_changes_nothing(site: Site) -> None:
    path = site()
    first = create(path, edge_key=LEAF.key)
    assert "edge/key" in first["created"]
    assert "edge" not in first["issued"], "the site's CA issues none"
    assert not create(path)["changed"]
    assert not create(path, edge_key=f"{LEAF.key}\n")["changed"]
    assert open_store("lab").get("edge/key") == LEAF.key.strip()


def locked(one: Issued) -> str:
    how = serialization.BestAvailableEncryption(b"word")
    return one.private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how).decode()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (None, "the secrets store has no edge/key\n"),
        (NEXT.key, "does not belong to the certificate CN=leaf"),
        ("word", "no private key in PEM"),
        (LEAF.pem, "no private key in PEM"),
        (locked(LEAF), "has a passphrase"),
        (LEAF.key.replace("A", "="), "no private key in PEM"),
    ],
)
def test_a_key_that_does_not_belong_changes_nothing_and_is_not_shown(
    site: Site, tmp_path: Path, key: str | None, said: str
) -> None:
    with pytest.raises(GroundupError, match=said) as caught:
        create(site(), edge_key=key or "")
    assert not (tmp_path / "state/lab/secrets.yml").exists()
    assert key is None or key.strip().splitlines()[-1] not in str(caught.value)


def test_a_new_pair_replaces_the_old_one_and_half_of_it_does_not(site: Site) -> None:
    create(site(), edge_key=LEAF.key)
    with pytest.raises(PkiError, match="does not belong"):
        create(site(NEXT))
    with pytest.raises(PkiError, match="does not belong"):
        create(site(), edge_key=NEXT.key)
    assert open_store("lab").get("edge/key") == LEAF.key.strip()
    assert create(site(NEXT), write=False, edge_key=NEXT.key)["created"] == ["edge/key"]
    assert open_store("lab").get("edge/key") == LEAF.key.strip(), "a prediction"
    assert create(site(NEXT), edge_key=NEXT.key)["created"] == ["edge/key"]


def test_no_other_secret_is_ever_replaced(site: Site) -> None:
    create(site(), edge_key=LEAF.key)
    with pytest.raises(GroundupError, match="has another value for keystone/admin"):
        create(site(), edge_key=LEAF.key, keystone_admin="another")


def test_without_the_field_the_site_s_ca_issues_the_certificate_again(site: Site) -> None:
    create(site(), edge_key=LEAF.key)
    path = site(None, ())
    predicted = create(path, write=False)
    assert "edge/key" in open_store("lab").names(), "a prediction"
    made = create(path)
    assert made["issued"] == {"edge": "new"}
    assert "edge" in {one.user for one in users(planned(path))}
    assert made["msg"].endswith("removed: secret edge/key")
    assert predicted["msg"].endswith("would be removed: secret edge/key")
    assert "edge/key" not in open_store("lab").names()
    assert not create(path)["changed"]


def test_a_file_that_is_gone_for_a_moment_costs_no_key(site: Site) -> None:
    path = site()
    create(path, edge_key=LEAF.key)
    (path.parent / "public.pem").unlink()
    site_secrets.create(make_plan(load_site(path)), {}, write=True)
    assert open_store("lab").get("edge/key") == LEAF.key.strip()


def test_a_key_without_a_certificate_is_refused_before_anything_is_changed(site: Site, tmp_path: Path) -> None:
    with pytest.raises(PkiError, match=r"write edge\.certificate"):
        create(site(None), edge_key=LEAF.key)
    assert not (tmp_path / "state/lab/secrets.yml").exists()


def test_a_key_of_before_is_never_combined_with_another_certificate(site: Site) -> None:
    create(site(), edge_key=LEAF.key)
    store = open_store("lab")
    store.take({"edge/next-key": LEAF.key})
    with pytest.raises(PkiError, match="does not belong"):
        create(site(NEXT))


def test_one_bundle_holds_the_site_s_ca_and_the_company_s_and_goes_with_the_field(site: Site) -> None:
    path = site(None, (ROOT, OTHER))
    assert create(path, write=False)["issued"]["bundle of CAs"] == "new"
    assert create(path)["issued"]["bundle of CAs"] == "new"
    bundle = trust_file(planned(path))
    own = bundle.with_name("ca.crt").read_text()
    assert bundle.read_text() == own + ROOT.pem + OTHER.pem
    assert not create(path)["changed"]
    assert create(site(None, (OTHER,)))["issued"] == {"bundle of CAs": "other CAs"}
    assert bundle.read_text() == own + OTHER.pem
    path = site(None, ())
    create(path)
    assert not bundle.exists()
    assert trust_file(planned(path)).name == "ca.crt"


def test_pods_that_ask_public_names_believe_the_bundle_and_others_their_own_ca(site: Site) -> None:
    import base64

    path = site()
    create(path, edge_key=LEAF.key)
    plan, store = planned(path), open_store("lab")
    directory = trust_file(plan).parent
    (directory / "pki/horizon.crt").write_text("own")
    store.ensure(["pki/horizon-key"])
    for believes, text in (("site", trust_file(plan)), ("ovn", directory / "pki/authority/ovn.crt")):
        one = PodCertificate(user="horizon", secret="s", usage="client", believes=believes)  # type: ignore[arg-type]
        found = _data(plan, one, directory=directory, secret=store.get)
        assert base64.b64decode(found["ca.crt"]).decode() == text.read_text()


@pytest.mark.parametrize(
    ("leaf", "file"), [(LEAF, "trust.pem"), (LEAF, None), (None, "ca.crt")], ids=["company", "public", "ours"]
)
def test_users_are_told_the_ca_that_they_need_and_none_that_everybody_has(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaf: Issued | None, file: str | None
) -> None:
    if file is None:
        monkeypatch.setattr(pem, "public_roots", lambda: (ROOT.certificate,))
    path = site(leaf, (ROOT,) if file == "trust.pem" else ())
    create(path, edge_key=LEAF.key if leaf else "")
    plan, store = planned(path), open_store("lab")
    store.ensure(["keystone/admin"])
    access.place(plan, store, Changes(check=False))
    directory = tmp_path / "state/lab"
    clouds = yaml.safe_load((directory / "clouds.yaml").read_text())
    assert clouds["clouds"]["lab"].get("cacert") == (str(directory / file) if file else None)
    openrc = (directory / "openrc").read_text()
    assert (
        (f"OS_CACERT={directory / file}" in openrc)
        if file
        else ("unset OS_CLOUD OS_CLIENT_CONFIG_FILE OS_CACERT" in openrc)
    )
    outcome = RolloutResult(releases=(), diffs=(), reasons=(), cards=(), facts={"token_expires_at": "2026"})
    told: Any = _access(SimpleNamespace(plan=plan, directory=directory), outcome)  # type: ignore[arg-type]
    assert (str(directory / file) in told["CA"]) if file else ("CA" not in told)
    assert trust_file(plan).is_file(), "for the control node's own clients"
