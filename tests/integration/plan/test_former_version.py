"""A site that a former version made: the new one plans it from its state, and keeps its secrets and addresses."""

from __future__ import annotations

import json
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

pytestmark = pytest.mark.long
FORMER = "0adaad644a1999787056ecb837ef162507230c26"  # before the first step of upgrades
SITE = "inventories/cloud/site.yml"
KEPT = ("ca.crt", "site.json", "secrets.pub")
EXPECTED = {  # by layer and kind; whoever changes more says here that it is meant
    ("supply", "image"): ("supply.images.etcd",),
    ("openstack", "setting"): ("identity.logins", "openstack.dns", "openstack.quotas"),
    ("openstack", "value"): (
        "*.oslo_policy", "*quota*", "*.pod.probes.*", "*.pod.resources.*", "*workers", "*.processes",
        "glance.conf.glance.*",
        "horizon.conf.horizon.local_settings.*", "keystone.conf.keystone.*", "keystone.conf.wsgi_keystone",
        "keystone.jobs",
        "neutron.conf.plugins.ml2_conf.ovs",
    ),
    ("hypervisor", "file"): ("hypervisor.programs.*",),
    ("", "setting"): ("backups",),
}  # fmt: skip


class Site:
    """The site of a lab, and runs of both versions on its state."""

    def __init__(self, home: Path, former: Path) -> None:
        self.home, self.former, self.state = home, former, home / "state/cloud"
        self.variables = {"GROUNDUP_STATE": home / "state", "XDG_CONFIG_HOME": home / "config", "PYTHONPATH": None}

    def before(self, playbook: str) -> None:
        """Run a playbook of the former version."""
        place = self.home / "former/ansible_collections/groundup/cloud"
        if not place.exists():
            place.parent.mkdir(parents=True)
            place.symlink_to(self.former)
        done = run(
            "ansible-playbook", "-i", self.former / SITE, f"groundup.cloud.{playbook}", **self.variables,
            ANSIBLE_COLLECTIONS_PATH=self.home / "former", ANSIBLE_CONFIG=self.former / "ansible.cfg",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def now(self, playbook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a playbook of this version, by the former one's site file."""
        return run(
            "ansible-playbook", "-i", self.former / SITE, f"groundup.cloud.{playbook}", *arguments, **self.variables
        )

    def differences(self, against: Path) -> dict[str, Any]:
        """Return what differs from the plan of ``against``."""
        done = self.now("plan", "-e", f"against={against}", "-e", "output=json")
        assert done.returncode == 2, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def plan(self) -> dict[str, Any]:
        """Return the plan of the last run."""
        found: dict[str, Any] = json.loads((self.state / "plan.json").read_text())
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a site with the plan, the secrets and the certificates that the former version made."""
    home = tmp_path_factory.mktemp("site")
    exported = subprocess.run(["git", "-C", ROOT, "archive", FORMER], check=False, capture_output=True)
    if exported.returncode:
        pytest.skip(f"no history here: {exported.stderr.decode().strip()}")
    tree = home / "tree"
    tree.mkdir()
    subprocess.run(["tar", "x", "-C", tree], input=exported.stdout, check=True)
    made = Site(home, tree)
    for playbook in ("plan", "secrets"):
        made.before(playbook)
    return made


def unexpected(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = [(row["layer"], row["kind"], row["what"]) for row in found["rows"]]
    return [row for row in rows if not any(fnmatchcase(row[2], one) for one in EXPECTED.get(row[:2], ()))]


def test_the_site_is_planned_kept_and_adopted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in site.variables.items():
        monkeypatch.setenv(name, str(value)) if value else monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    secrets = dict(open_store("cloud", write=False).items())
    files = {name: (site.state / name).read_bytes() for name in KEPT}
    hosts = site.plan()["hosts"]
    assert secrets
    assert not (site.state / "format").exists()

    found = site.differences(site.state)
    assert unexpected(found) == []
    assert found["counts"]["supply"] == {"image": 1}
    assert [name for name, value in secrets.items() if value in json.dumps(found)] == []
    clone = site.differences(site.former)
    assert clone["rows"] == found["rows"], "the former version plans the site file as it did"

    predicted = site.now("secrets", "--check", "--diff")
    assert predicted.returncode == 0, predicted.stdout + predicted.stderr
    assert not (site.state / "format").exists(), "a dry run adopts nothing"
    assert {name: (site.state / name).read_bytes() for name in KEPT} == files

    for playbook in ("plan", "secrets"):
        done = site.now(playbook)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (site.state / "format").read_text() == "1\n"
    now = open_store("cloud", write=False).items()
    assert {name: now.get(name) for name in secrets} == secrets
    assert {name: (site.state / name).read_bytes() for name in KEPT} == files
    for name, host in site.plan()["hosts"].items():
        for field in ("address", "fqdn", "interfaces", "roles", "node_labels"):
            assert host[field] == hosts[name][field], (name, field)
    assert site.plan()["hosts"].keys() == hosts.keys()
    same = site.now("plan", "-e", f"against={site.state}")
    assert (same.returncode, same.stdout) == (0, "a run would change nothing\n")
    again = site.now("secrets", "--check", "--diff")
    assert "changed=0" in again.stdout, again.stdout
