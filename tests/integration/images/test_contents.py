"""What is in the service images, and that it fits: entry points, plugins, bytecode; no trace of a build."""

from __future__ import annotations

import json
import struct
import tarfile
from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .conftest import Image, describe

IMAGES = ("openstack", "openstack-client", "mariadb", "rabbitmq", "memcached")
WSGI = (
    "keystone.wsgi.api", "placement.wsgi.api", "glance.wsgi.api", "nova.wsgi.osapi_compute", "nova.wsgi.metadata",
    "neutron.wsgi.api", "cinder.wsgi.api", "heat.wsgi.api", "heat.wsgi.cfn", "openstack_dashboard.wsgi",
)  # fmt: skip
# What the charts start by name.
PROGRAMS = {
    "openstack": (
        "apache2", "uwsgi", "python", "keystone-manage", "glance-manage", "placement-manage", "nova-manage", "bash",
        "cinder-manage", "neutron-db-manage", "heat-manage", "nova-conductor", "nova-scheduler", "nova-novncproxy",
        "neutron-rpc-server", "heat-engine", "cinder-scheduler", "cinder-volume", "openstack", "qemu-img", "rbd",
    ),
    "openstack-client": ("openstack", "python", "bash"),
    "mariadb": ("mariadbd", "mariadb", "mariadb-install-db", "mariadb-upgrade", "mariadb-backup", "pidof", "bash"),
    "rabbitmq": ("rabbitmq-server", "rabbitmqctl", "rabbitmq-diagnostics", "rabbitmqadmin", "awk", "bash"),
    "memcached": ("memcached", "bash"),
}  # fmt: skip
# A process per service, as in a pod: two services in one would register the same options.
_LOAD = """
import importlib.metadata, importlib.util, os, sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    if importlib.util.find_spec(name) is None:
        print("BROKEN", name)
plugins = importlib.metadata.entry_points(group="oslo.config.opts")
for service in ("keystone", "glance", "nova", "neutron", "cinder", "heat", "placement", "oslo"):
    if os.fork():
        os.wait()
        continue
    loaded = 0
    for entry in plugins:
        if entry.name.split(".")[0] == service:
            try:
                entry.load()
                loaded += 1
            except Exception as error:
                print("BROKEN", entry.name, repr(error))
    print("LOADED" if loaded else "BROKEN", service, loaded, flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize("name", IMAGES)
def test_every_program_the_charts_start_is_on_the_path(image: Callable[[str], Image], name: str) -> None:
    missing = 'for p in "$@"; do command -v "$p" >/dev/null || echo "$p"; done'
    found = image(name).run("sh", "-c", missing, "sh", *PROGRAMS[name])
    assert found.stdout == ""


def test_wsgi_entry_points_and_configuration_plugins_load(image: Callable[[str], Image]) -> None:
    found = image("openstack").run("python", "-c", _LOAD, *WSGI, uid=42424)
    assert "BROKEN" not in found.stdout, found.stdout
    assert found.stdout.count("LOADED") == 8


def test_programs_of_the_services_start_on_a_read_only_root(image: Callable[[str], Image]) -> None:
    root = image("openstack")
    assert root.run("keystone-manage", "--version", uid=42424).stdout.strip() == "29.1.0"
    assert root.run("id", "-un", uid=42424).stdout.strip() == "keystone"
    assert "mariadbd  Ver 11.8" in image("mariadb").run("mariadbd", "--version", uid=999).stdout
    modules = "import iso8601, kubernetes.client, kubernetes.config, pykube, pymysql"
    assert image("mariadb").run("/usr/bin/python3", "-c", modules, uid=999).stdout == ""
    assert image("openstack-client").run("python", "-c", "import pymysql, sqlalchemy").stdout == ""


def test_services_reach_ceph_by_debians_own_library(image: Callable[[str], Image]) -> None:
    """Without a file to write to."""
    opened = "import rados, rbd; print(rados.Rados(conf={'mon_host': '::1'}).conf_get('mon_host'), rbd.RBD().version())"
    found = image("openstack").run("python", "-c", opened, uid=42424)
    assert found.stdout.startswith("::1 (1, "), found.stdout


def test_the_shipped_bytecode_is_what_runs(image: Callable[[str], Image]) -> None:
    said = image("openstack").run("keystone-manage", "--version", uid=42424, env={"PYTHONVERBOSE": "1"}).stdout
    loaded = [line for line in said.splitlines() if line.startswith("# code object from ")]
    assert len(loaded) > 100
    assert [line for line in loaded if not line.endswith(".pyc'")] == [], "compiled again at start"


@pytest.mark.parametrize("name", ["openstack", "openstack-client", "mariadb"])
def test_no_bytecode_depends_on_time_stamps(image: Callable[[str], Image], name: str) -> None:
    unchecked_hash = 1
    root = image(name).root
    found = [path for part in ("usr/lib", "usr/local/lib", "var/lib") for path in (root / part).rglob("*.pyc")]
    assert len(found) > 500
    for path in found:
        with path.open("rb") as stream:
            _, flags = struct.unpack("<4sL", stream.read(8))
        assert flags == unchecked_hash, path


@pytest.mark.parametrize("name", IMAGES)
def test_nothing_of_one_build_or_of_its_machine_is_left(image: Callable[[str], Image], name: str) -> None:
    root = image(name).root
    build_only = ("build", "etc/resolv.conf", "etc/pip.conf", "etc/apt/sources.list", "usr/bin/gcc", "usr/bin/uv")
    for path in (*build_only, "etc/mysql/debian.cnf"):
        assert not (root / path).exists(), path
    for path in ("var/lib/apt/lists", "var/cache/apt", "var/lib/mysql", "root"):
        assert not any(p.is_file() and p.name not in (".bashrc", ".profile") for p in (root / path).rglob("*")), path
    assert not any(p.is_file() for p in (root / "var/log").rglob("*"))


def test_what_was_compiled_names_no_directory_of_its_build(image: Callable[[str], Image]) -> None:
    """Two caches have two names for it, and the image would be another in each."""
    place = image("openstack").root / "var/lib/openstack"
    compiled = [place / "bin/uwsgi", *place.rglob("*libvirtmod*.so")]
    assert len(compiled) == 4
    assert [path.name for path in compiled if b"/root/.cache" in path.read_bytes()] == []


def test_all_images_stand_on_the_same_layer(artifact: Callable[[str], Artifact]) -> None:
    lowest = set()
    for name in IMAGES:
        with tarfile.open(artifact(name).path) as tar:
            lowest.add(describe(tar)[0]["layers"][0]["digest"])
    assert len(lowest) == 1


@pytest.mark.parametrize("name", IMAGES)
def test_the_bill_of_material_lists_packages_and_distributions(artifact: Callable[[str], Artifact], name: str) -> None:
    names = {c["name"].lower() for c in json.loads(artifact(name).sbom.read_text(encoding="utf-8"))["components"]}
    expected = {
        "openstack": {"keystone", "horizon", "uwsgi", "apache2", "libc6"},
        "openstack-client": {"python-openstackclient"},
        "mariadb": {"mariadb-server", "galera-4", "pykube-ng"}, "rabbitmq": {"rabbitmq-server", "erlang-base"},
        "memcached": {"memcached"},
    }[name]  # fmt: skip
    assert expected <= names
