"""A tenant's first steps: their order, what fails is named by its layer, and nothing stays behind."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import faults
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import smoke as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest, Said
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import smoke
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.sweep import description, sweep
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from .fake import ADMIN, TENANTS, FakeCloud, left

pytestmark = pytest.mark.usefixtures("talk")
STEPS = [
    "leftovers", "project", "user", "keypair", "security group", "network", "router", "image", "flavor", "instance",
    "floating IP", "ssh", "metadata", "payload there", "payload back", "deletion",
]  # fmt: skip


class Talk:
    """A guest that answers, and what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fake: FakeCloud) -> None:
        self.fault, self.spoilt, self.stored = "", False, b""
        self.fake = fake
        monkeypatch.setattr(faults, "said_by", self.pinged)
        monkeypatch.setattr(Guest, "ask", lambda _, words, **more: self.ask(words, **more))

    def pinged(self, argv: list[str], **_timeout: float) -> Said:
        """Lose packets of full size."""
        return Said(data=b"", fault="exit code 1" if "1414" in argv else "")

    def ask(self, words: str, *, stdin: Any = None, **_timeout: float) -> Said:
        if self.fault:
            return Said(data=b"", fault=self.fault)
        if stdin is not None:
            self.stored = stdin.read()
            return Said(data=hashlib.sha256(self.stored).hexdigest().encode() + b"  /tmp/x\n")
        if words.startswith("cat"):
            return Said(data=self.stored[:-1] if self.spoilt else self.stored)
        if "169.254" in words:
            return Said(data=self.fake.of("servers")[0]["id"].encode())
        return Said(data=b"smoke-1\n2: eth0    inet 192.168.123.9/24 brd 192.168.123.255 scope global eth0\n")


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch, fake: FakeCloud) -> Talk:
    fake.add("networks", {"name": "provider", "router:external": True}, ADMIN)
    return Talk(monkeypatch, fake)


@pytest.fixture
def options(tmp_path: Path) -> TenantOptions:
    image = tmp_path / "guest.qcow2"
    image.write_bytes(b"QFI")
    return TenantOptions(image=image, user="guest", payload_mb=1, timeout=0.2)


def test_every_step_is_done_timed_and_printed_and_nothing_stays(
    admin: Any, fake: FakeCloud, talk: Talk, options: TenantOptions
) -> None:
    lines: list[str] = []
    steps = Steps(lines.append)
    answered = smoke(admin, options, steps)
    assert [one.name for one in steps.done] == STEPS
    assert all(one.ok for one in steps.done)
    assert [line.split()[0] for line in lines] == ["[smoke]"] * len(STEPS)
    assert (answered["host"], answered["address"]) == ("hypervisor-2", "203.0.113.7")
    assert "hypervisor-2 answered at 203.0.113.7: 1 MB both ways" in answered["msg"]
    assert len(talk.stored) == 1_000_000
    assert left(fake) == []


def test_it_works_as_the_tenant_but_for_account_and_flavor(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    smoke(admin, TenantOptions(image=options.image, user="guest", payload_mb=1, keep=True), Steps(lambda _: None))
    project = next(one for one in fake.of("projects") if one["name"] != "admin")
    for kind in ("networks", "routers", "images", "servers", "floatingips", "security_groups"):
        assert [one["project_id"] for one in fake.of(kind) if one.get("name") != "provider"] == [project["id"]], kind
    assert not fake.of("flavors")[0]["os-flavor-access:is_public"]
    assert fake.of("images")[0]["visibility"] == "private"


def test_where_signatures_are_required_the_image_has_one_by_a_certificate_of_the_tenant(
    admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    steps = Steps(lambda _: None)
    smoke(admin, replace(options, signed=True, keep=True), steps)
    assert [one.name for one in steps.done] == [*STEPS[:7], "signature", *STEPS[7:-1]]
    (secret,), (image,) = fake.of("secrets"), fake.of("images")
    key = x509.load_pem_x509_certificate(base64.b64decode(secret["payload"])).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(base64.b64decode(image["img_signature"]), options.image.read_bytes(), ec.ECDSA(hashes.SHA256()))
    assert (image["img_signature_key_type"], image["img_signature_hash_method"]) == ("ECC_SECP384R1", "SHA-256")
    assert image["img_signature_certificate_uuid"] == secret["id"]
    assert (secret["project_id"], secret["acl"]["read"]["users"]) == (image["project_id"], [admin.current_user_id])
    assert secret["expiration"], "a killed run's is forgotten by Barbican"


def test_a_certificate_goes_with_its_tenant_or_is_named(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    smoke(admin, replace(options, signed=True), Steps(lambda _: None))
    assert left(fake) == []
    fake.refuses["DELETE secrets"] = (500, "Secret deletion failure seen")
    with pytest.raises(SmokeError, match=r"certificate secrets-\d+: .*Secret deletion failure seen"):
        smoke(admin, replace(options, signed=True), Steps(lambda _: None))


def test_reverse_order_of_deletion(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    smoke(admin, options, Steps(lambda _: None))
    deleted = [one.split("/")[0].split()[1] for one in fake.asked if one.startswith("DELETE")]
    order = ["floatingips", "servers", "images", "routers", "networks", "security-groups", "os-keypairs", "flavors",
             "users", "projects"]  # fmt: skip
    assert list(dict.fromkeys(deleted)) == order


@pytest.mark.parametrize("refused", ["POST routers", "POST images", "POST servers", "POST floatingips", "POST users"])
def test_a_failure_is_the_clouds_own_words_and_what_was_made_goes(
    refused: str, admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    fake.refuses[refused] = (409, "No more addresses of that kind")
    steps = Steps(lambda _: None)
    with pytest.raises(SmokeError, match="No more addresses of that kind"):
        smoke(admin, options, steps)
    assert [one.name for one in steps.done if not one.ok] == [steps.done[-2].name]
    assert left(fake) == []


def test_an_instance_without_a_host_says_why(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    fake.status, fake.fault = "ERROR", "No valid host was found. There are not enough hosts available."
    with pytest.raises(SmokeError, match="No valid host was found") as caught:
        smoke(admin, options, Steps(lambda _: None))
    assert caught.value.layer == "compute"
    assert "filter" in caught.value.remedy
    assert left(fake) == []


def test_a_silent_instance_is_shown_with_what_the_cloud_says(
    admin: Any, fake: FakeCloud, talk: Talk, options: TenantOptions
) -> None:
    talk.fault = "Connection timed out"
    fake.console = "guest: neither config drive nor metadata service: no key, no login"
    fake.add("agents", {"agent_type": "OVN Controller agent", "host": "hypervisor-9", "alive": False}, ADMIN)
    with pytest.raises(SmokeError) as caught:
        smoke(admin, options, Steps(lambda _: None))
    text = str(caught.value)
    assert caught.value.layer == "metadata"
    for part in ("Connection timed out", "port binding: ovs", "OVN Controller agent on hypervisor-9", fake.console):
        assert part in text
    assert left(fake) == []


def test_bytes_that_come_back_otherwise_are_a_failure(
    admin: Any, fake: FakeCloud, talk: Talk, options: TenantOptions
) -> None:
    talk.spoilt = True
    with pytest.raises(SmokeError, match="payload back: its SHA-256 is another") as caught:
        smoke(admin, options, Steps(lambda _: None))
    assert "ping with 84 bytes: answers" in caught.value.what
    assert "ping with 1442 bytes: no answer" in caught.value.what
    assert left(fake) == []


def test_what_cannot_be_deleted_is_named_and_tried_again(admin: Any, fake: FakeCloud, options: TenantOptions) -> None:
    fake.refuses["DELETE routers"] = (409, "router is in use")
    lines: list[str] = []
    with pytest.raises(SmokeError, match="not all of it could be deleted"):
        smoke(admin, options, Steps(lines.append))
    assert any("not deleted: router smoke-" in line and "router is in use" in line for line in lines)
    (project,) = (one for one in fake.of("projects") if one["name"] != "admin")  # by which the rest is found again
    fake.refuses.clear()
    assert sweep(admin, project["name"]) == []
    assert left(fake) == []


def test_leftovers_of_a_killed_run_go_and_those_of_a_living_one_stay(
    admin: Any, fake: FakeCloud, options: TenantOptions
) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    killed = description(child.pid)
    child.wait()
    for name, mark in (
        ("smoke-0000dead", killed.rpartition(":")[0] + ":1"),
        ("smoke-0000beef", description(os.getpid())),
    ):
        project = fake.add("projects", {"name": name, "description": mark}, ADMIN)
        fake.add("users", {"name": name, "description": mark}, ADMIN)
        fake.add("networks", {"name": name}, project["id"])
    fake.add("projects", {"name": "smoke-0000feed", "description": "of somebody"}, ADMIN)
    steps = Steps(lambda _: None)
    smoke(admin, options, steps)
    assert steps.done[0].detail == "removed smoke-0000dead"
    names = {str(one.get("name")) for kind in TENANTS for one in fake.of(kind)}
    assert names == {"admin", "provider", "smoke-0000beef", "smoke-0000feed"}


def test_deletion_never_leaves_its_project(admin: Any, fake: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that does not know a filter lists everybody's."""
    monkeypatch.setattr("ansible_collections.groundup.cloud.tests.unit.cloud.fake._Handler._fits", lambda *_: True)
    for kind in (
        "networks", "routers", "images", "servers", "floatingips", "security_groups", "keypairs", "flavors", "volumes",
    ):  # fmt: skip
        fake.add(kind, {"name": "of-a-customer", "user_id": "c"}, "customer")
    before = left(fake)
    mine = {"name": "smoke-00000001", "description": description(os.getpid())}
    fake.add("projects", mine, ADMIN)
    fake.add("users", mine, ADMIN)
    assert sweep(admin, "smoke-00000001") == []
    assert left(fake) == before


def test_volumes_go_before_the_images_they_are_clones_of(admin: Any, fake: FakeCloud) -> None:
    mine = {"name": "smoke-00000001", "description": description(os.getpid())}
    project = fake.add("projects", mine, ADMIN)["id"]
    for kind in ("images", "volumes"):
        fake.add(kind, {"name": mine["name"]}, project)
    assert sweep(admin, mine["name"]) == []
    gone = [one.split("/")[0] for one in fake.asked if one.startswith("DELETE")]
    assert gone.index("DELETE volumes") < gone.index("DELETE images")
    assert left(fake) == []


def test_a_signal_ends_it_and_what_was_made_goes(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: Any) -> None:
        os.kill(os.getpid(), 15)

    monkeypatch.setattr(module.Proof, "_instance", ended)
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        smoke(admin, options, Steps(lambda _: None))
    assert left(fake) == []


def test_neither_key_nor_password_is_shown(
    admin: Any, fake: FakeCloud, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs: list[module.Proof] = []
    walk = module.Proof.walk
    keys: list[str] = []

    def watched(proof: module.Proof) -> dict[str, Any]:
        proofs.append(proof)
        found = walk(proof)
        key = proof.directory / "id_ed25519"
        keys.extend(key.read_text().splitlines()[1:2])
        assert (key.stat().st_mode & 0o777, proof.directory.stat().st_mode & 0o777) == (0o600, 0o700)
        return found

    monkeypatch.setattr(module.Proof, "walk", watched)
    lines: list[str] = []
    steps = Steps(lines.append)
    shown = repr([smoke(admin, options, steps), steps.result(), lines, proofs, fake.of("servers")])
    assert not any(secret in shown for secret in (proofs[0].password, "admins-own", *keys))
    assert not proofs[0].directory.exists()
