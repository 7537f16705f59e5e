"""The operator's own certificate and a company's CAs in the plan: what is planned from sound files, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    Plan,
    SiteError,
    build_site,
    load_site,
    make_plan,
    pem,
    to_json,
)
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.plan.certificate_cases import LEAF, MIDDLE, OTHER, ROOT, served
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT as TREE
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example

PlanOf = Callable[..., Plan]


def test_a_sound_chain_of_a_company_is_planned_without_a_finding(plan_of: PlanOf) -> None:
    plan = plan_of("lab", served(LEAF.pem, MIDDLE.pem))
    assert plan.findings == ()
    assert plan.edge.certificate == LEAF.pem + MIDDLE.pem
    assert plan.edge.public_root == ""
    assert plan.host.trusted_cas == (ROOT.pem,)


def test_a_chain_that_a_public_ca_signed_needs_no_field_and_no_file_of_users(
    plan_of: PlanOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pem, "public_roots", lambda: (OTHER.certificate, ROOT.certificate))
    changes = served(LEAF.pem, MIDDLE.pem) | {"hosts/trusted_cas": []}
    plan = plan_of("lab", changes)
    assert plan.findings == ()
    assert plan.edge.public_root == ROOT.pem


def test_text_around_certificates_line_ends_and_a_root_in_the_chain_are_no_mistake(plan_of: PlanOf) -> None:
    text = f"subject=CN=leaf\n{LEAF.pem}\nBag Attributes\n{MIDDLE.pem}{ROOT.pem}".replace("\n", "\r\n")
    plan = plan_of("lab", served(text))
    assert plan.findings == ()
    assert plan.edge.certificate == LEAF.pem + MIDDLE.pem + ROOT.pem


def test_a_ca_that_is_written_twice_is_trusted_once(plan_of: PlanOf) -> None:
    plan = plan_of("lab", {"hosts/trusted_cas": ["a.pem", "b.pem", "a.pem"], "files": {"a.pem": ROOT.pem,
                           "b.pem": ROOT.pem + OTHER.pem}})  # fmt: skip
    assert plan.host.trusted_cas == (ROOT.pem, OTHER.pem)


def test_a_name_that_is_missing_is_told_and_one_that_is_covered_is_not(plan_of: PlanOf) -> None:
    names = [one.name for one in plan_of("lab").edge.endpoints]
    found = plan_of("lab", served(issue("l", ROOT, names=[one.upper() for one in names[1:]]).pem)).findings
    assert [one.name for one in found] == ["certificate-lacks-names"]
    assert found[0].what.startswith(f"it is not for {names[0]}: it has ")


def test_an_address_is_covered_by_an_address_alone() -> None:
    one = issue("l", names=["192.0.2.1", "*.0.2.2", "2001:db8::1"]).certificate
    assert [pem.covers(one, name) for name in ("192.0.2.1", "192.0.2.2", "2001:db8:0::1")] == [True, False, True]


def test_no_finding_shows_a_private_key(plan_of: PlanOf) -> None:
    plan = plan_of("lab", served(LEAF.pem, MIDDLE.pem, LEAF.key))
    body = LEAF.key.splitlines()[1]
    assert body not in to_json(plan)
    assert "PRIVATE KEY" not in to_json(plan)


def test_a_site_without_the_fields_reads_no_file_and_no_list_of_cas(
    plan_of: PlanOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pem, "public_roots", lambda: pytest.fail("read"))
    plan = plan_of("cloud")
    assert (plan.edge.certificate, plan.edge.public_root, plan.host.trusted_cas) == ("", "", ())


@pytest.mark.parametrize(
    "name",
    ["/etc/ssl/public.pem", "../public.pem", "tls/../../x.pem", "public.crt", ".pem", "", "tls//x.pem", "a b.pem"],
)
def test_a_file_that_is_not_beside_the_site_file_is_refused_at_its_key(name: str) -> None:
    for path, value in (("edge/certificate", name), ("hosts/trusted_cas", [name])):
        with pytest.raises(SiteError, match=r"not the name of a PEM file beside the site file"):
            build_site(changed(example("lab"), {path: value}))


def test_files_are_read_beside_the_site_file_whatever_is_in_them(tmp_path: Path) -> None:
    text = (TREE / "inventories/lab/site.yml").read_text()
    names = ["der.pem", "large.pem", "directory.pem", "missing.pem", "bom.pem"]
    (tmp_path / "site.yml").write_text(f"{text}\nhosts: {{trusted_cas: [{', '.join(names)}]}}\n")
    (tmp_path / "der.pem").write_bytes(ROOT.der)
    (tmp_path / "large.pem").write_text("x" * 300_000)
    (tmp_path / "directory.pem").mkdir()
    (tmp_path / "bom.pem").write_text(f"\ufeff{ROOT.pem}")
    plan = make_plan(load_site(tmp_path / "site.yml"))
    assert {one.name for one in plan.findings} == {"certificate-file-unreadable"}
    assert len(plan.findings) == 4
    said = " ".join(one.what for one in plan.findings)
    assert all(word in said for word in ("openssl x509 -inform DER", "larger than", "directory.pem", "No such file"))
    assert plan.host.trusted_cas == (ROOT.pem,)
