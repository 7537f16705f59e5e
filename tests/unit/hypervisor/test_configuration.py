"""What a hypervisor's services run by: the releases' own text, and after it what is of the host."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration, ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.cluster import (
    member_port,
    read_cluster,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.configuration import (
    CloudAccess,
    Host,
    NotYetError,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.machines import Compute

NOVA = """\
# rendered
[DEFAULT]
transport_url = rabbit://nova:pw@rabbitmq-rabbitmq-0.rabbitmq.svc:5672,nova:pw@rabbitmq-rabbitmq-1.rabbitmq.svc:5672/nova
host = nobody

[api_database]
connection = mysql+pymysql://nova:dbpw@mariadb/nova_api

[database]
connection = mysql+pymysql://nova:dbpw@mariadb/nova

[placement]
auth_url = http://keystone-api.openstack.svc:5000/v3
password = placementpw
"""
LAB = {"datapath": "netdev", "virt_type": "qemu", "cpu_mode": "custom", "cpu_model": "Nehalem", "machine_type": "pc"}


def host(cards: Sequence[Mapping[str, Any]] = (), **compute: Any) -> Host:
    return Host(
        cards=cards, name="hypervisor-1", address="10.90.0.129",
        compute=Compute(**{**LAB, **compute}).model_dump(), southbound=("ssl:10.90.0.11:6642",),
    )  # fmt: skip


def cluster(*, tls: bool = False) -> CloudAccess:
    return CloudAccess(
        nova=configuration.for_hosts(NOVA), agent="[DEFAULT]\n", transport_url="rabbit://nova:pw@10.90.0.11:30672/nova",
        queue_tls=tls, auth_url="https://identity.lab.test/v3",
    )  # fmt: skip


def test_passwords_of_databases_never_leave_the_controller() -> None:
    text = configuration.for_hosts(NOVA)
    assert "dbpw" not in text
    assert ini.value(text, "placement", "password") == "placementpw"
    assert text.startswith("# rendered\n[DEFAULT]\n"), "the rest is as it was rendered"


def test_the_proof_of_a_guests_request_is_in_the_agents_file_alone() -> None:
    secret = "[neutron]\nmetadata_proxy_shared_secret = proof\n  goes-on\nservice_metadata_proxy = true\n"
    found = configuration.for_hosts(f"{NOVA}{secret}[other]\nmetadata_proxy_shared_secret = its\n")
    assert "proof" not in found
    assert "goes-on" not in found
    assert ini.value(found, "neutron", "service_metadata_proxy") == "true"
    assert ini.value(found, "other", "metadata_proxy_shared_secret") == "its"


def test_the_last_value_of_an_option_counts_as_for_the_service() -> None:
    assert ini.value("[a]\nb = 1\n[c]\nb = 2\n[a]\nb: 3\n", "a", "b") == "3"
    assert ini.value("[a]\n", "a", "b") is None


def test_members_of_the_queue_get_the_addresses_hosts_reach_and_keep_their_accounts() -> None:
    url = ini.value(NOVA, "DEFAULT", "transport_url") or ""
    places = {
        "rabbitmq-rabbitmq-0.rabbitmq.svc": ("10.90.0.11", 30672),
        "rabbitmq-rabbitmq-1.rabbitmq.svc": ("10.90.0.12", 30673),
    }
    found = configuration.reachable(url, places.__getitem__)
    assert found == "rabbit://nova:pw@10.90.0.11:30672,nova:pw@10.90.0.12:30673/nova"


def test_a_release_without_a_queue_is_refused_and_nothing_of_its_url_is_shown() -> None:
    with pytest.raises(GroundupError) as caught:
        configuration.reachable("nova:secretpw", lambda _: ("", 0))
    assert "secretpw" not in str(caught.value)


@pytest.mark.parametrize("names", [configuration.NOVA_FILES, configuration.AGENT_FILES])
def test_the_first_file_that_is_there_counts(names: tuple[str, ...]) -> None:
    data = {name: base64.b64encode(name.encode()).decode() for name in reversed(names)}
    assert configuration.secret_file({"data": data}, names, where="Secret a/b") == names[0]


@pytest.mark.parametrize("secret", [None, {"data": {}}, {"data": {"other": ""}}])
def test_a_missing_secret_names_itself_and_the_playbook_that_makes_it(secret: Mapping[str, Any] | None) -> None:
    with pytest.raises(GroundupError, match=r"(?s)Secret openstack/nova-etc.*groundup.cloud.openstack"):
        configuration.secret_file(secret, configuration.NOVA_FILES, where="Secret openstack/nova-etc")


def test_the_host_part_wins_over_what_answers_inside_the_cluster_only() -> None:
    text = configuration.nova_host(cluster(), host())
    assert ini.value(text, "DEFAULT", "host") == "hypervisor-1"
    assert ini.value(text, "DEFAULT", "log_config_append") == "", "the charts' file is not on the host"
    for client in ("placement", "neutron", "glance", "cinder", "service_user"):
        assert ini.value(text, client, "auth_url") == "https://identity.lab.test/v3"
        assert ini.value(text, client, "valid_interfaces") == "public"
    assert ini.value(text, "glance", "api_servers") == ""
    assert ini.value(text, "barbican", "auth_endpoint") == "https://identity.lab.test/v3"
    assert ini.value(text, "barbican", "barbican_endpoint_type") == "public"
    assert ini.value(text, "DEFAULT", "transport_url") == "rabbit://nova:pw@10.90.0.11:30672/nova"


def test_what_the_release_says_of_signatures_is_the_hosts_too() -> None:
    text = f"{NOVA}\n[glance]\nverify_glance_signatures = true\n"
    both = configuration.for_hosts(text) + configuration.nova_host(cluster(), host())
    assert ini.value(both, "glance", "verify_glance_signatures") == "true"


def test_the_hardware_profile_says_what_guests_see_and_what_stays_for_the_host() -> None:
    text = configuration.nova_host(cluster(), host(reserved_memory_gb=4, reserved_cores=1))
    assert ini.value(text, "libvirt", "cpu_models") == "Nehalem"
    assert ini.value(text, "libvirt", "hw_machine_type") == "x86_64=pc"
    assert ini.value(text, "libvirt", "num_pcie_ports") is None, "pc has none"
    assert ini.value(text, "DEFAULT", "reserved_host_memory_mb") == "4096"
    metal = configuration.nova_host(cluster(), host(cpu_mode="host-model", cpu_model=None, machine_type="q35"))
    assert ini.value(metal, "libvirt", "cpu_models") is None
    assert ini.value(metal, "libvirt", "num_pcie_ports") == "16"


def test_live_migration_is_encrypted_by_both_options_of_which_one_alone_is_none() -> None:
    text = configuration.nova_host(cluster(), host())
    assert ini.value(text, "libvirt", "live_migration_with_native_tls") == "true"
    assert ini.value(text, "libvirt", "live_migration_scheme") == "tls"


@pytest.mark.parametrize("tls", [True, False])
def test_the_queue_is_spoken_to_as_it_listens(tls: bool) -> None:
    text = configuration.nova_host(cluster(tls=tls), host())
    assert ini.value(text, "oslo_messaging_rabbit", "ssl") == str(tls).lower()
    # Without a CA file it is not verified, and with everybody's a certificate of any of them would do.
    trusted = "/etc/groundup/hypervisor/queue-ca.pem" if tls else None
    assert ini.value(text, "oslo_messaging_rabbit", "ssl_ca_file") == trusted


def test_disks_are_where_the_hardware_says_and_the_release_says_by_whose_key() -> None:
    files = configuration.nova_host(cluster(), host(reserved_disk_gb=20))
    assert ini.value(files, "libvirt", "images_type") == "qcow2"
    assert ini.value(files, "DEFAULT", "reserved_host_disk_mb") == "20480"
    images = configuration.nova_host(cluster(), host(disks="ceph", reserved_disk_gb=20))
    assert ini.value(images, "libvirt", "images_type") == "rbd"
    assert ini.value(images, "libvirt", "images_rbd_ceph_conf") == "/etc/nova/ceph.conf"
    assert ini.value(images, "DEFAULT", "reserved_host_disk_mb") == "0", "it counts Ceph's, not the host's"
    for text in (files, images):
        assert ini.value(text, "libvirt", "rbd_user") is None, "Cinder names its own with each volume"


def test_the_agent_reaches_the_southbound_database_with_the_hosts_certificate() -> None:
    text = configuration.agent_host(host())
    assert ini.value(text, "ovn", "ovn_sb_connection") == "ssl:10.90.0.11:6642"
    assert ini.value(text, "ovn", "ovn_sb_certificate") == "/etc/groundup/hypervisor/certificate.pem"
    assert ini.value(text, "DEFAULT", "nova_metadata_host") is None, "the release says it"
    assert ini.value(text, "DEFAULT", "auth_ca_cert") == configuration.TRUST


def test_a_reinstalled_host_is_the_same_compute_and_another_sites_is_not() -> None:
    first = configuration.compute_id("lab", "hypervisor-1")
    assert first == configuration.compute_id("lab", "hypervisor-1")
    assert (
        len({first, configuration.compute_id("lab", "hypervisor-2"), configuration.compute_id("b", "hypervisor-1")})
        == 3
    )


_POD = "statefulset.kubernetes.io/pod-name"
SERVICES: list[dict[str, Any]] = [
    {"metadata": {"name": "rabbitmq"}, "spec": {"ports": [{"port": 5672}]}},
    {
        "metadata": {"name": "member-0"},
        "spec": {
            "selector": {_POD: "rabbitmq-rabbitmq-0"},
            "ports": [{"port": 15672, "nodePort": 31000}, {"port": 5671, "nodePort": 30671}],
        },
    },
]


def test_a_member_is_found_by_its_pod_and_tls_by_its_port() -> None:
    assert member_port(SERVICES, "rabbitmq-rabbitmq-0") == (30671, True)


def test_tls_is_taken_where_a_member_has_both_ports() -> None:
    ports = [{"port": 5672, "nodePort": 30672}, {"port": 5671, "nodePort": 30671}]
    both = [{"spec": {"selector": {_POD: "rabbitmq-rabbitmq-0"}, "ports": ports}}]
    assert member_port(both, "rabbitmq-rabbitmq-0") == (30671, True)


def test_a_queue_with_tls_for_some_of_its_members_is_refused() -> None:
    plain = {"spec": {"selector": {_POD: "rabbitmq-rabbitmq-1"}, "ports": [{"port": 5672, "nodePort": 30673}]}}
    agent = "[DEFAULT]\nnova_metadata_host = metadata.lab.test\n"
    api = Kubernetes({"nova-etc": {"nova.conf": NOVA}, "neutron-etc": {"ovn_agent.ini": agent}}, [*SERVICES, plain])
    with pytest.raises(NotYetError, match="message queue with TLS"):
        read_cluster(api, namespace="openstack", nodes=["10.90.0.16"], auth_url="https://i/v3")


class Kubernetes(Api):
    """A cluster with Secrets and Services."""

    def __init__(self, secrets: Mapping[str, Mapping[str, str]], services: list[dict[str, Any]] | None = None) -> None:
        self.secrets, self.services = secrets, services or SERVICES

    def find(self, path: str) -> dict[str, Any] | None:
        found = self.secrets.get(path.rpartition("/")[2])
        return found and {"data": {name: base64.b64encode(text.encode()).decode() for name, text in found.items()}}  # type: ignore[return-value]

    def get(self, path: str, **query: str) -> dict[str, Any]:
        assert path.endswith("/services")
        assert not query
        return {"items": self.services}


def test_the_cluster_says_what_hosts_run_by_and_where_they_reach_it() -> None:
    nova = NOVA.replace(",nova:pw@rabbitmq-rabbitmq-1.rabbitmq.svc:5672", "")
    agent = "[DEFAULT]\nnova_metadata_host = metadata.lab.test\n"
    api = Kubernetes({"nova-etc": {"nova.conf": nova}, "neutron-etc": {"ovn_agent.ini": agent}})
    found = read_cluster(api, namespace="openstack", nodes=["10.90.0.16", "10.90.0.17"], auth_url="https://i/v3")
    assert found.transport_url == "rabbit://nova:pw@10.90.0.16:30671/nova"
    assert found.queue_tls
    assert "dbpw" not in repr(found) + found.nova
    assert "nova:pw" not in repr(found), "what holds passwords shows none of them"


def test_accounts_of_openstack_helms_charts_come_from_a_secret_of_their_own() -> None:
    secrets = {
        "nova-etc": {"nova-compute.conf": NOVA.replace("password = placementpw", "")},
        "nova-ks-etc": {
            "nova_placement.conf": "[placement]\npassword = fromks",
            "nova_keystone_authtoken.conf": "[keystone_authtoken]\npassword = ofapi\n",
        },
        "neutron-etc": {"ovn_agent.ini": "[DEFAULT]\nnova_metadata_host = m\n"},
    }
    member = {**SERVICES[1], "spec": {**SERVICES[1]["spec"], "selector": {_POD: "rabbitmq-rabbitmq-1"}}}
    api = Kubernetes(secrets, [*SERVICES, member])
    found = read_cluster(api, namespace="openstack", nodes=["10.90.0.16"], auth_url="https://i/v3").nova
    assert ini.value(found, "placement", "password") == "fromks"
    assert "ofapi" not in found, "what only the API uses stays there"


def test_what_hosts_cannot_reach_is_refused_by_name() -> None:
    with pytest.raises(GroundupError, match="rabbitmq-rabbitmq-1"):
        member_port(SERVICES, "rabbitmq-rabbitmq-1")
    with pytest.raises(NotYetError, match="nova_metadata_host"):
        read_cluster(
            Kubernetes({"nova-etc": {"nova.conf": NOVA}, "neutron-etc": {"ovn_agent.ini": "[agent]\n"}}),
            namespace="openstack", nodes=["10.90.0.16"], auth_url="https://i/v3",
        )  # fmt: skip
