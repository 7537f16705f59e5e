"""What preflight says of a host that somebody else, or a run before, has put to use."""

from __future__ import annotations

import os

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run

from .conftest import Host, faults, wanted


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/usr/bin/dockerd", "Docker"),
        ("/var/lib/rancher/k3s/server", "k3s"),
        ("/var/snap/microk8s/current", "MicroK8s"),
        ("/usr/bin/kubelet", "a kubelet of somebody else"),
        ("/etc/kubernetes/kubelet.conf", "a node of a Kubernetes cluster"),
    ],
)
def test_somebody_elses_runtime_or_cluster_is_refused_on_a_node(host: Host, path: str, what: str) -> None:
    host.write(path)
    assert faults(host) == [("runtime", "error", f"{what} is on the host")]
    assert faults(host, wanted(node=False)) == []


def test_a_containerd_that_somebody_ran_is_a_warning(host: Host) -> None:
    host.write("/etc/containerd/config.toml", "Debian's own")
    assert faults(host) == []
    host.write("/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db")
    assert faults(host) == [("runtime", "warning", "containerd has run here before")]
    host.write("/etc/groundup/site", "unit x\n")
    assert faults(host) == []


def test_a_host_of_another_site_is_refused(host: Host) -> None:
    host.write("/etc/groundup/site", "other ssh-ed25519\n")
    assert faults(host) == [("site", "error", "the host belongs to the site other")]


def test_a_host_whose_secrets_the_controller_lost_is_refused(host: Host) -> None:
    """The seed's layer would have given it another CA before the host layer refused it."""
    host.write("/etc/groundup/site", "unit ssh-ed25519 AAAA\n")
    assert faults(host, wanted(store="ssh-ed25519 AAAA")) == []
    said = "the host was set up with other secrets than this control node has"
    for other in ("", "ssh-ed25519 BBBB"):
        assert faults(host, wanted(store=other)) == [("site", "error", said)]


def test_cloud_init_that_writes_names_is_refused_and_the_last_word_counts(host: Host) -> None:
    host.write("/usr/bin/cloud-init")
    host.write("/etc/cloud/cloud.cfg", "preserve_hostname: false\nmanage_etc_hosts: true\n")
    host.write("/etc/hostname", "installed\n")
    assert faults(host) == [
        ("cloud-init", "error", "cloud-init writes /etc/hosts at every boot (manage_etc_hosts: true)"),
        ("cloud-init", "warning", "cloud-init may take back the host's planned name (preserve_hostname)"),
    ]
    host.write("/etc/cloud/cloud.cfg.d/99-site.cfg", "manage_etc_hosts: false\npreserve_hostname: true\n")
    assert faults(host) == []
    host.write("/var/lib/cloud/instance/cloud-config.txt", "#cloud-config\nmanage_etc_hosts: localhost\n")
    (fault,) = run(host, wanted())["faults"]
    assert fault["where"] == "/var/lib/cloud/instance/cloud-config.txt"
    host.write("/etc/cloud/cloud-init.disabled")
    assert faults(host) == []


def test_a_half_installed_package_is_named(host: Host) -> None:
    entry = "Package: {}\nEssential: yes\nStatus: {}\nVersion: 1\n\n"
    host.write(
        "/var/lib/dpkg/status",
        entry.format("a", "install ok installed") + entry.format("b", "deinstall ok config-files"),
    )
    assert faults(host) == []
    host.write(
        "/var/lib/dpkg/status",
        entry.format("a", "install ok half-configured") + entry.format("b", "install ok unpacked"),
    )
    (fault,) = run(host, wanted())["faults"]
    assert (fault["check"], fault["where"]) == ("packages", "a, b")
    host.write("/var/lib/dpkg/status", "")
    host.write("/var/lib/dpkg/updates/0001", "")
    assert faults(host) == [("packages", "error", "dpkg was interrupted")]
    host.write("/etc/groundup/site", "unit x\n")
    assert faults(host) == [("packages", "warning", "dpkg was interrupted")], "a killed run of ours: the next goes on"
    host.write("/etc/groundup/site", "other x\n")
    assert ("packages", "error", "dpkg was interrupted") in faults(host)


def test_an_apt_at_work_leaves_nothing_half_installed(host: Host) -> None:
    host.write("/var/lib/dpkg/status", "Package: a\nStatus: install ok unpacked\nVersion: 1\n\n")
    host.write("/var/lib/dpkg/lock-frontend")
    assert faults(host) == [("packages", "error", "packages are half installed")]
    state = host.path("/var/lib/dpkg/lock-frontend").stat()
    place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    host.write("/proc/locks", f"1: POSIX  ADVISORY  WRITE 812 {place} 0 EOF\n")
    assert faults(host) == [("packages", "warning", "apt or dpkg is at work on the host")]


def test_a_host_that_serves_already_raises_no_false_alarm(host: Host) -> None:
    host.write("/etc/groundup/site", "unit ssh-ed25519 AAAA\n")
    host.write("/etc/kubernetes/kubelet.conf")
    host.listen(22, "sshd", inode=1, pid=300)
    host.listen(10250, "kubelet", inode=2, pid=400)
    host.listen(8472, "", protocol="udp")
    host.programs["nft"] = (
        "table inet x {\n\tchain input {\n\t\ttype filter hook input priority 0; policy drop;\n\t}\n}\n"
    )
    assert faults(host, wanted(space={"/var/lib/containerd": 10**6})) == []
    assert run(host, wanted())["facts"]["serves"]


def test_a_node_serves_only_once_it_has_joined(host: Host) -> None:
    host.write("/etc/groundup/site", "unit ssh-ed25519 AAAA\n")
    assert not run(host, wanted())["facts"]["serves"]
    assert run(host, wanted(node=False))["facts"]["serves"]
    host.write("/etc/kubernetes/kubelet.conf")
    assert run(host, wanted())["facts"]["serves"]
    assert not run(host, wanted(site="other"))["facts"]["serves"]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("/etc/systemd/system.conf.d/proxy.conf", 'DefaultEnvironment="HTTPS_PROXY=http://proxy:3128"'),
        ("/etc/systemd/system.conf", "DefaultEnvironment=http_proxy=http://proxy:3128 X=1"),
        ("/etc/systemd/system/containerd.service.d/http-proxy.conf", 'Environment="ALL_PROXY=socks5://proxy"'),
    ],
)
def test_a_proxy_of_services_without_exceptions_is_named(host: Host, file: str, line: str) -> None:
    host.write(file, f"[Service]\n{line}\n")
    assert [(one[0], one[1]) for one in faults(host)] == [("proxy", "warning")]
    host.write(file, f"[Service]\n#{line}\n")
    assert faults(host) == []
    host.write(file, f'[Service]\n{line}\nEnvironment="NO_PROXY=.lab.test"\n')
    assert faults(host) == []


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        (
            "/etc/network/interfaces",
            "auto lo\niface lo inet loopback\nallow-hotplug ens3\niface ens3 inet dhcp\n",
            "ifupdown",
        ),
        ("/etc/network/interfaces.d/ens3", "iface ens3 inet static\n", "ifupdown"),
        ("/etc/netplan/50-cloud-init.yaml", "network: {}\n", "netplan"),
    ],
)
def test_a_network_that_another_program_runs_is_found_before_the_host_layer_would_refuse_it(
    host: Host, place: str, text: str, said: str
) -> None:
    host.write(place, text)
    assert faults(host) == []
    assert faults(host, wanted(manages_network=True)) == [("network", "error", f"the host's network is run by {said}")]


@pytest.mark.parametrize(
    ("said", "runs"),
    [("active", True), ("reloading", True), ("activating", True), ("inactive", False), ("failed", False), ("", False)],
)
def test_a_network_of_networkmanager_is_found_while_it_runs_or_is_about_to(host: Host, said: str, runs: bool) -> None:
    host.write("/etc/network/interfaces", "auto lo\niface lo inet loopback\n")
    host.programs["systemctl"] = f"{said}\n"
    found = [("network", "error", "the host's network is run by NetworkManager")]
    assert faults(host, wanted(manages_network=True)) == (found if runs else [])
