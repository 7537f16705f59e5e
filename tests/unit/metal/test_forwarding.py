"""A lab on a machine whose filters drop what it forwards: what is done, what is said, and what is undone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._container import forwarding, network
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_prefix
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab import networks

LAB = {"site": "lab", "networks": {}}
BRIDGES = f"{link_prefix('lab')}+"
RULE = f"-A FORWARD -i {BRIDGES} -o {BRIDGES} -j ACCEPT"
FIREWALLD = """table inet firewalld {
\tchain filter_FORWARD {
\t\ttype filter hook forward priority filter + 10; policy accept;
\t\tct state { established, related } accept
\t\treject with icmpx admin-prohibited
\t}
}
table ip filter {
\tchain FORWARD {
\t\ttype filter hook forward priority filter; policy drop;
\t}
}
"""


class Filter:
    """Stands for iptables, in nftables and as it was before."""

    def __init__(self, policy: str) -> None:
        self.rules = {"nft": [f"-P FORWARD {policy}"], "legacy": ["-P FORWARD ACCEPT"]}
        self.nft = ""

    def attempt(self, argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if argv[0] == "nft":
            return subprocess.CompletedProcess(argv, 0, self.nft, "")
        rules = self.rules["legacy" if argv[0].endswith("legacy") else "nft"]
        words = [word for word in argv[1:] if word != "-w"]
        line = " ".join(["-A", *words[1:]])
        if words[0] == "-I":
            rules.append(line)
        elif words[0] == "-D":
            rules.remove(line)
        code = int(words[0] == "-C" and line not in rules)
        return subprocess.CompletedProcess(argv, code, "\n".join(rules), "")

    def run(self, argv: list[str], **_: object) -> str:
        return self.attempt(argv).stdout


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bridge-nf-call-iptables"
    path.write_text("1\n")
    monkeypatch.setattr(forwarding, "CALLS", path)
    tables = tmp_path / "ip_tables_names"
    tables.write_text("filter\nnat\n")
    monkeypatch.setattr(forwarding, "LEGACY", tables)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(network, "links", dict)
    return path


def filter_of(monkeypatch: pytest.MonkeyPatch, policy: str = "DROP") -> Filter:
    found = Filter(policy)
    monkeypatch.setattr(forwarding, "attempt", found.attempt)
    monkeypatch.setattr(forwarding, "run", found.run)
    return found


@pytest.mark.usefixtures("calls")
def test_a_lab_lets_its_own_packets_through_once_and_takes_the_rule_away(monkeypatch: pytest.MonkeyPatch) -> None:
    filters = filter_of(monkeypatch)
    for expected in (True, False):
        assert networks.create(Changes(check=False), LAB)["changed"] is expected
        assert filters.rules == {"nft": ["-P FORWARD DROP", RULE], "legacy": ["-P FORWARD ACCEPT"]}
    for expected in (True, False):
        assert networks.remove(Changes(check=False), LAB)["changed"] is expected
        assert filters.rules["nft"] == ["-P FORWARD DROP"]


def test_the_module_is_loaded_without_filters_for_this_machine_and_removed_unless_they_are_wanted_since(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filter_of(monkeypatch)
    said: list[str] = []

    def modprobe(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        said.append(" ".join(argv))
        for name in ("iptables", "ip6tables", "arptables"):
            if "--remove" in argv:
                (calls.parent / f"bridge-nf-call-{name}").unlink()
            else:
                (calls.parent / f"bridge-nf-call-{name}").write_text("1\n")
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(forwarding, "run", modprobe)
    monkeypatch.setattr(forwarding, "attempt", modprobe)
    forwarding.load()
    forwarding.unload()
    assert said == [], "it was there, and filters"
    calls.unlink()
    forwarding.load()
    assert {path.read_text() for path in calls.parent.glob("bridge-nf-*")} == {"0\n"}
    forwarding.load()
    forwarding.unload()
    assert not calls.exists()
    forwarding.unload()
    assert said == ["modprobe -- br_netfilter", "modprobe --remove -- br_netfilter"]


@pytest.mark.usefixtures("calls")
def test_a_dry_run_writes_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    filters = filter_of(monkeypatch)
    assert networks.create(Changes(check=True), LAB)["changed"] is True
    assert filters.rules["nft"] == ["-P FORWARD DROP"]


def test_no_rule_is_written_where_nothing_is_dropped(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filter_of(monkeypatch, "ACCEPT")
    assert forwarding.closed("lab") == []
    filters = filter_of(monkeypatch)
    calls.write_text("0\n")
    assert forwarding.closed("lab") == []
    calls.unlink()  # the lab loads the module, without filters for this machine's bridges
    assert forwarding.closed("lab") == []
    calls.write_text("1\n")
    filters.rules["nft"] = ["-P FORWARD ACCEPT", "-A FORWARD -j REJECT --reject-with icmp-host-prohibited"]
    assert forwarding.closed("lab")


def test_chains_of_others_in_nftables_are_named(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filters = filter_of(monkeypatch)
    filters.nft = FIREWALLD
    assert forwarding.foreign("lab") == ["inet firewalld filter_FORWARD"], "the other is that of iptables"
    filters.nft = FIREWALLD.replace("\t\tct state", f'\t\tiifname "{link_prefix("lab")}*" accept\n\t\tct state')
    assert forwarding.foreign("lab") == []
    filters.nft = FIREWALLD
    calls.write_text("0\n")
    assert forwarding.foreign("lab") == []
