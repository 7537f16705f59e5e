"""What the charts make of TLS between hypervisors and pods: the queue's second listener, the console proxy."""

from __future__ import annotations

import configparser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.certificates import certificates

from .conftest import CHARTS, Render, chart_in, chart_values, name_of, objects
from .test_builtin_charts import pods


@pytest.fixture(scope="module")
def rendered(plan: Plan, render: Render) -> dict[str, list[dict[str, Any]]]:
    wanted = [release for release in plan.openstack.releases if release.name in ("mariadb", "rabbitmq", "nova")]
    return {release.name: objects(render(release, CHARTS / release.chart)) for release in wanted}


def console_is_secured(plan: Plan, items: list[dict[str, Any]], sources: list[dict[str, Any]]) -> None:
    """Fail unless ``sources`` of nova.conf.d have the console proxy's options, and the files these name."""
    (options,) = [
        item["data"]["vnc.conf"] for item in items
        if item["kind"] == "ConfigMap" and {"configMap": {"name": item["metadata"]["name"]}} in sources
    ]  # fmt: skip
    parser = configparser.ConfigParser()
    parser.read_string(options)
    assert parser["vnc"]["auth_schemes"] == "vencrypt", "a second one would be what an impostor offers"
    named = {value for key, value in parser["vnc"].items() if key.startswith("vencrypt_")}
    assert named == {f"/etc/nova/nova.conf.d/{name}" for name in ("tls.crt", "tls.key", "ca.crt")}
    secrets = {one["secret"]["name"] for one in sources if "secret" in one}
    assert {one.secret for one in certificates(plan) if one.user == "nova-novncproxy"} <= secrets


def test_the_queue_listens_with_tls_beside_the_plain_port_by_files_of_its_secret(
    plan: Plan, rendered: dict[str, Any]
) -> None:
    items = rendered["rabbitmq"]
    text = next(item for item in items if name_of(item) == "ConfigMap/rabbitmq-rabbitmq-etc")["data"]["rabbitmq.conf"]
    conf = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    assert conf["listeners.tcp.1"] == "0.0.0.0:5672"
    assert conf["listeners.ssl.1"] == "0.0.0.0:5671"
    pod = dict(pods(items))["StatefulSet/rabbitmq-rabbitmq"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "tls"]
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "tls"]
    assert volume["secret"]["secretName"] in {one.secret for one in certificates(plan)}
    assert {conf[f"ssl_options.{kind}"] for kind in ("certfile", "keyfile", "cacertfile")} == {
        f"{mount['mountPath']}/{name}" for name in ("tls.crt", "tls.key", "ca.crt")
    }
    hosts = [item["spec"]["ports"] for item in items if item["kind"] == "Service" and "selector" in item["spec"]]
    assert {port["port"] for ports in hosts for port in ports if "nodePort" in port} == {5671}


def test_the_databases_members_and_their_copies_have_a_certificate_of_their_own_authority(
    plan: Plan, rendered: dict[str, list[dict[str, Any]]]
) -> None:
    items = rendered["mariadb"]
    text = next(item for item in items if name_of(item) == "ConfigMap/mariadb-etc")["data"]["00-base.cnf"]
    config = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    config.read_string(text)
    provider = dict(one.split("=", 1) for one in config["mysqld"]["wsrep_provider_options"].strip('"').split("; "))
    pod = dict(pods(items))["StatefulSet/mariadb-server"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "galera"]
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "galera"]
    (certificate,) = [one for one in certificates(plan) if one.secret == volume["secret"]["secretName"]]
    assert (certificate.authority, certificate.usage) == ("galera", "both")
    assert "subPath" not in mount, "a renewed certificate would not get there"
    files = {kind: f"{mount['mountPath']}/{name}" for kind, name in
             (("cert", "tls.crt"), ("key", "tls.key"), ("ca", "ca.crt"))}  # fmt: skip
    assert {kind: provider[f"socket.ssl_{kind}"] for kind in files} == files
    assert provider["socket.ssl"] == "yes"
    assert config["sst"]["encrypt"] == "4", "with 3 and no authority nobody is verified"
    assert {kind: config["sst"][f"t{kind}"] for kind in files} == files


def test_the_console_proxy_speaks_to_hypervisors_with_tls_alone_and_shows_its_certificate(
    plan: Plan, rendered: dict[str, Any]
) -> None:
    pod = dict(pods(rendered["nova"]))["Deployment/nova-novncproxy"]
    (volume,) = [one for one in pod["volumes"] if "projected" in one and one["name"] != "wait-access"]
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == volume["name"]]
    assert mount["mountPath"] == "/etc/nova/nova.conf.d", "where nova looks by itself"
    console_is_secured(plan, rendered["nova"], volume["projected"]["sources"])


def test_a_queue_that_no_host_uses_has_no_second_listener(render: Render) -> None:
    values = chart_values("rabbitmq")
    assert values["secrets"]["tls"]["oslo_messaging"]["server"]["internal"] == ""
    image = {"images": {"tags": {"rabbitmq": "r/rabbitmq:1"}}}
    release: Any = SimpleNamespace(name="rabbitmq", namespace="openstack", values=image)
    text = render(release, CHARTS / "rabbitmq")
    assert "listeners.ssl" not in text
    assert "amqps" not in text


def test_the_real_console_proxy_has_what_it_shows_hypervisors_and_needs_no_cert_manager(
    plan: Plan, render: Render, real_charts: Path
) -> None:
    nova = next(release for release in plan.openstack.releases if release.name == "nova")
    items = objects(render(nova, chart_in(real_charts, "nova")))
    assert "Certificate" not in {item["kind"] for item in items}
    pod = dict(pods(items))["Deployment/nova-novncproxy"]
    at = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    (volume,) = [one for one in pod["volumes"] if one["name"] == at["/etc/nova/nova.conf.d"]]
    console_is_secured(plan, items, volume["projected"]["sources"])
