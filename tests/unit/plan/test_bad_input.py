"""Whatever is wrong with a site file is said with its place, its reason and its remedy, and never as a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, load_site, parse_site
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused


def test_the_text_names_file_key_reason_and_remedy() -> None:
    text = str(refused(LAB.replace("profile: lab", "profile: lob")))
    assert "site.yml" in text
    assert "profile: 'lob' is not one of the choices" in text
    assert "Remedy: did you mean 'lab'?" in text


@pytest.mark.parametrize(
    ("change", "key", "meant"),
    [
        ("machnes: {}", "machnes", "machines"),
        ("kubernetes: {verson: 1.36.3}", "kubernetes.verson", "version"),
        ("networks: {management: {cidr: 10.0.0.0/24, vlna: 3}}", "networks.management.vlna", "vlan"),
        ("storage: {pools: {vms: {replica: 3}}}", "storage.pools.vms.replica", "replicas"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(change: str, key: str, meant: str) -> None:
    error = refused(LAB + change)
    assert (error.problems[0].key, error.problems[0].reason) == (key, "unknown key")
    assert f"did you mean '{meant}'?" in error.problems[0].remedy


def test_an_unknown_key_like_no_other_is_refused_with_the_keys_there_are() -> None:
    assert "kind" in refused(LAB + "edge: {zzz: 1}").problems[0].remedy


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("networks: {management: {cidr: 10.0.0.1/24}}", "networks.management.cidr"),
        ("networks: {management: {cidr: 10.0.0.0}}", "networks.management.cidr"),
        ("networks: {management: {cidr: fd00::/64}}", "networks.management.cidr"),
        ("networks: {management: {cidr: 10.0.0.0/31}}", "networks.management.cidr"),
        ("networks: {management: {cidr: 24}}", "networks.management.cidr"),
        ("networks: {management: {cidr: 10.0.0.0/24, vlan: 4095}}", "networks.management.vlan"),
        ("networks: {management: {cidr: 10.0.0.0/24, vlan: '7'}}", "networks.management.vlan"),
        ("networks: {management: {cidr: 10.0.0.0/24, vlan: true}}", "networks.management.vlan"),
        (
            "networks: {management: {cidr: 10.0.0.0/24, ranges: {worker: 10.0.0.9-10.0.0.2}}}",
            "networks.management.ranges.worker",
        ),
        ("networks: {front: {cidr: 10.0.0.0/24}}", "networks.front.purpose"),
        ("networks: []", "networks"),
        ("networks: {1: 2}", "networks.1"),
        ("openstack: {release: 2026.1}", "openstack.release"),
        ("edge: {address: 10.0.0.300}", "edge.address"),
        ("edge: {router_id: 0}", "edge.router_id"),
        ("racks: {Rack 1: {}}", "racks.Rack 1"),
        ("access: {user: 'root; rm'}", "access.user"),
        ("access: {host_keys: {a-1: AAAA}}", "access.host_keys.a-1"),
        ("hosts: {timezone: ../../../etc/passwd}", "hosts.timezone"),
        ("hosts: {timezone: /etc/passwd}", "hosts.timezone"),
        ("hosts: {ntp_servers: ['a b']}", "hosts.ntp_servers.0"),
        ("hosts: {ntp_servers: [0.0.0.0]}", "hosts.ntp_servers.0"),
        ("hosts: {ntp_servers: [192.0.2.300]}", "hosts.ntp_servers.0"),
        ("hosts: {kernel_modules: ['a/b']}", "hosts.kernel_modules.0"),
        ("hosts: {blocked_modules: ['a b']}", "hosts.blocked_modules.0"),
        ("hosts: {disabled_units: [bluetooth.servce]}", "hosts.disabled_units.0"),
        ("hosts: {disabled_units: ['a b.service']}", "hosts.disabled_units.0"),
        ("hosts: {sysctl: {swappiness: 1}}", "hosts.sysctl.swappiness"),
        ("hosts: {sysctl: {'vm.swap piness': 1}}", "hosts.sysctl.vm.swap piness"),
        ("openstack: {region: a b}", "openstack.region"),
        ("openstack: {region: '{{ x }}'}", "openstack.region"),
        ("openstack: {region: ../x}", "openstack.region"),
        ("kubernetes: {dns_domain: 'a b {;'}", "kubernetes.dns_domain"),
        ("supply: {registry: 'https://x'}", "supply.registry"),
        ("supply: {registry: images.example.org}", "supply.registry"),
        ("supply: {registry: 'images.example.org:65536'}", "supply.registry"),
        ("supply: {registry: 'images.example.org/cloud'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/Cloud'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/a//b'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/../b'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/a:1'}", "supply.registry"),
        ("supply: {registry: 'images.example.org:443/a b'}", "supply.registry"),
        ("supply: {registry_login: 'user:word'}", "supply.registry_login"),
        ("supply: {files_url: files.example.org}", "supply.files_url"),
        ("supply: {files_url: 'http://files.example.org:0'}", "supply.files_url"),
        ("supply: {files_url: 'http://files.example.org:80a/x'}", "supply.files_url"),
        ("supply: {files_url: 'http://[x/y'}", "supply.files_url"),
        ("supply: {files_url: 'http://user:word@files.example.org/x'}", "supply.files_url"),
        ("ovn: {tunnel_ids: all}", "ovn.tunnel_ids"),
        ("kubernetes: {version: ../../etc}", "kubernetes.version"),
        ("kubernetes: {kubelet: {maxPods: 2026-01-01}}", "kubernetes.kubelet"),
        ("kubernetes: {kubelet: {maxPods: .inf}}", "kubernetes.kubelet"),
        ("openstack: {overrides: {keystone: {values: {a: [2026-01-01]}}}}", "openstack.overrides.keystone.values"),
        ('supply: {images: {mariadb: "a b"}}', "supply.images.mariadb"),
        ('hosts: {timezone: "Etc/UTC\\n"}', "hosts.timezone"),
        ('storage: {pools: {images: {name: "a, allow rwx pool=b"}}}', "storage.pools.images.name"),
        ('storage: {pools: {"a b": {}}}', "storage.pools.a b"),
        ("storage: {pools: {images: {name: .mgr}}}", "storage.pools.images.name"),
    ],
)
def test_a_wrong_value_is_refused_at_its_key(change: str, key: str) -> None:
    assert refused(LAB + change).problems[0].key == key


@pytest.mark.parametrize(
    ("machines", "reason"),
    [
        ("{worker: {}}", "says neither count, names nor per_rack"),
        ("{worker: {count: 1, names: [a-1]}}", "has count and names"),
        ("{worker: {count: -1}}", "-1"),
        ("{worker: {count: 1.5}}", "1.5"),
        ("{worker: {count: 20001}}", "20001"),
        ("{worker: {names: ['hv-[9:1]']}}", "ends before it starts"),
        ("{worker: {names: ['hv-[1:99999]']}}", "99999 names"),
        ("{worker: {names: [Worker_1]}}", "not a host name"),
        ("{gpu: {count: 1}}", "'gpu' is not a role"),
        ("{worker: {count: 1, rack: r1, racks: [r1]}}", "has rack beside racks"),
        ("{worker: {per_rack: 2, racks: [r1, r1]}}", "names a rack twice"),
        ("{seed: {count: 1}, hypervisor: {per_rack: 40}}", "40 machines a rack, and no racks"),
        ("{seed: {count: 0}, control: {names: []}}", "no machine is written"),
        (f"{{seed: {{count: 1}}, {'w' * 62}: {{count: 1, roles: [worker]}}}}", "names of 64 characters"),
        (f"{{worker: {{per_rack: 10, racks: [a, {'r' * 54}]}}}}", "names of 64 characters"),
        ("{}", "at least 1 item"),
    ],
)
def test_machines_that_do_not_add_up_are_refused(machines: str, reason: str) -> None:
    error = refused(LAB.partition("machines:")[0] + f"machines: {machines}")
    assert reason in error.problems[0].reason
    assert error.problems[0].key.startswith("machines")


WORKERS = "{{worker: {{count: 1, {}}}}}"


@pytest.mark.parametrize(
    "written",
    ["labels: {team: infra/db}", "labels: {team: -a}", f"labels: {{team: {'a' * 64}}}", "labels: {a/b/c: x}",
     "labels: {'': x}", "taints: ['=:NoSchedule']", "taints: ['a/b/c=d:NoSchedule']", "taints: ['a=b=c:NoSchedule']"],
)  # fmt: skip
def test_labels_and_taints_kubernetes_refuses_are_refused(written: str) -> None:
    error = refused(LAB.partition("machines:")[0] + "machines: " + WORKERS.format(written))
    assert error.problems[0].key.startswith(f"machines.worker.{written.partition(':')[0]}")


def test_labels_and_taints_kubernetes_takes_are_taken() -> None:
    written = "labels: {e.org/team: infra_db.1, empty: ''}, taints: ['e.org/gpu=a.b:NoSchedule', 'x:NoExecute']"
    parse_site((LAB.partition("machines:")[0] + "machines: " + WORKERS.format(written)).encode())


def test_more_machines_than_any_site_has_are_refused_before_they_are_made() -> None:
    groups = "\n".join(f"  w{n}: {{roles: [worker], count: 20000}}" for n in range(3))
    error = refused(LAB + groups)
    assert "60002 machines" in error.problems[0].reason


def test_every_problem_is_told_not_only_the_first() -> None:
    assert [p.key for p in refused("plugin: groundup.cloud.site\nsite: lab\nfoo: 1").problems] == [
        "domain",
        "profile",
        "machines",
        "foo",
    ]


@pytest.mark.parametrize("name", ["münchen", "ラボ", "lab\u202e", "l a b", "-lab", "LAB", "a" * 64, "../lab", ""])
def test_names_that_are_no_host_names_are_refused(name: str) -> None:
    error = refused(LAB.replace("site: lab", f"site: {name!r}"))
    assert error.problems[0].key == "site"
    str(error).encode("ascii")


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yml", tmp_path):
        with pytest.raises(SiteError, match="cannot be read"):
            load_site(path)


def test_a_region_without_a_management_network_is_refused() -> None:
    error = refused(LAB.replace("profile: lab", "profile: region"))
    assert error.problems[0].key == "networks.management"


@pytest.mark.parametrize(
    "value", ["2026-13-45", "9" * 5000, "1.5e300", "0x1F", ".nan", "!!binary x", "2026-01-01", "~"]
)
def test_odd_scalars_never_become_another_exception(value: str) -> None:
    for key in ("site", "profile", "networks", "kubernetes"):
        refused(LAB.replace(f"{key}: lab", "") + f"{key}: {value}\n")


@pytest.mark.parametrize(
    ("change", "line", "reason", "remedy"),
    [
        ("kubernetes: {version: 2026-01-01}", 8, "YAML reads 2026-01-01 as a date", "in quotes"),
        ("openstack: {region: on}", 8, "YAML takes on, yes, true, off, no and false for answers", "in quotes"),
        ("openstack: {release: 2026.1}", 8, "YAML reads 2026.1 as a number", 'write it in quotes, "2026.1"'),
        ("openstack: {services: keystone}", 8, "'keystone': must be a list", "Services; MariaDB"),
        ("kubernetes: {audit: 'yes'}", 8, "'yes': must be true or false, without quotes", "audit log"),
        ("machines: [a]", 5, "a list: must be a mapping of keys to values", "Groups of machines"),
        ("storage:", 8, "nothing is written under it", "leave the key out"),
        ("networks: {management: {cidr: fd00::/64}}", 8, "IPv6 is not supported yet", "write an IPv4 network"),
        ("access:\n  port: 70000", 9, "70000: must be less than or equal to 65535", "TCP port of sshd"),
        ("hosts: {sysctl: {net.ipv4.ip_forward: [1]}}", 8, "a list: must be text", "Kernel parameters"),
        ("gpus: {count: 1}", 8, "unknown key", "write one of"),
        ("networks:\n  front: {cidr: 10.9.0.0/24}", 9, "'front' is not a purpose", "one of"),
    ],
)
def test_a_fault_is_told_in_an_operators_words_with_its_line(change: str, line: int, reason: str, remedy: str) -> None:
    text = LAB.partition("machines:")[0] if change.startswith("machines") else LAB
    (problem,) = refused(f"{text}{change}\n").problems
    assert problem.line == line
    assert problem.reason.startswith(reason) or reason in problem.reason
    assert remedy in problem.remedy
    assert not {"dictionary", "instance", "datetime", "None", "Input"} & set(str(problem).split())


def test_a_key_path_goes_through_keys_that_hold_dots_and_through_lists() -> None:
    error = refused(
        LAB + "hosts:\n  sysctl:\n    vm.x: 1\n    vm.x.y: [2]\n  dns_servers:\n    - 10.0.0.1\n    - nine\n"
    )
    assert {problem.key: problem.line for problem in error.problems} == {
        "hosts.sysctl.vm.x.y": 11,
        "hosts.dns_servers.1": 14,
    }


MACHINE = "machines: {seed: {count: 1}, control: {count: 1, machines: {control-1: {mac: MAC}}}}\n"


@pytest.mark.parametrize(
    ("written", "write"),
    [
        ("10.0.0.9:8443", "write 10.0.0.9"),
        ("https://10.0.0.9/redfish/v1", "write 10.0.0.9"),
        ("https://admin@10.0.0.9:443", "write 10.0.0.9"),
        ("bmc-7.example.org", "write an IPv4 address"),
        ("fd00::9", "write an IPv4 address"),
        ("[fd00::9]:443", "write an IPv4 address"),
    ],
)
def test_a_controllers_address_with_more_than_an_address_is_told_what_is_supported(written: str, write: str) -> None:
    machine = MACHINE.replace("mac: MAC", f"bmc: {{address: '{written}'}}")
    (problem,) = refused(LAB.partition("machines:")[0] + machine).problems
    assert "asked by https on port 443" in problem.reason
    assert write in str(problem)


@pytest.mark.parametrize(("written", "why"), [("224.0.0.9", "multicast"), ("169.254.0.9", "links without a network")])
def test_a_controllers_address_that_is_nobodys_is_told_so(written: str, why: str) -> None:
    machine = MACHINE.replace("mac: MAC", f"bmc: {{address: '{written}'}}")
    (problem,) = refused(LAB.partition("machines:")[0] + machine).problems
    assert why in problem.reason


@pytest.mark.parametrize("written", ["0123456789", "To be filled by O.E.M.", "0000000000", "NA"])
def test_a_filler_is_refused_as_a_serial_number(written: str) -> None:
    (problem,) = refused(LAB.partition("machines:")[0] + MACHINE.replace("mac: MAC", f"serial: '{written}'")).problems
    assert "filler" in problem.reason


@pytest.mark.parametrize(
    "mac",
    ["52:54:00:AB:cd:ef", "52-54-00-ab-cd-ef", "5254.00ab.cdef", "525400abcdef", "52:54:0:ab:cd:ef", "5254:00ab:cdef"],
)
def test_a_mac_address_has_one_spelling_whatever_notation_it_is_written_in(mac: str) -> None:
    site = parse_site((LAB.partition("machines:")[0] + MACHINE.replace("MAC", f"'{mac}'")).encode())
    assert site.machines["control"].machines["control-1"].mac == "52:54:00:ab:cd:ef"


@pytest.mark.parametrize(
    ("mac", "reason"),
    [
        ("'52:54:00:12:34'", "not a MAC address"),
        ("'52:54:00:12:34:5g'", "not a MAC address"),
        ("'52:54:00:12:34:56:78:90'", "not a MAC address"),
        ("'52540012345'", "not a MAC address"),
        ("'01:00:5e:00:00:01'", "no port has this address"),
        ("'ff:ff:ff:ff:ff:ff'", "no port has this address"),
        ("'000000000000'", "no port has this address"),
        ("525400123456", "YAML reads 525400123456 as a number"),
        ("52:54:00:12:34:56", "YAML reads 52:54:00:12:34:56 as the number"),
    ],
)
def test_what_is_no_ports_mac_address_is_refused(mac: str, reason: str) -> None:
    assert reason in refused(LAB.partition("machines:")[0] + MACHINE.replace("MAC", mac)).problems[0].reason


def test_a_word_of_other_tools_leads_to_ours_not_to_the_one_that_looks_alike() -> None:
    assert "did you mean 'native'?" in refused(LAB + "storage: {backend: ceph}").problems[0].remedy
