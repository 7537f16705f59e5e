"""What services import when they start is in their image: a release may use a distribution that it does not require."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Image

# Of tests, of drivers and back ends that no chart configures, and a name that eventlet makes.
ABSENT = {
    "__original_module_threading",
    "confluent_kafka", "freezegun", "functionaltests", "googleapiclient", "hacking", "kmip", "nvmet", "oslotest", "pki",
    "pycodestyle", "pytest", "selenium", "testtools", "wsgi_intercept", "xattr", "xvfbwrapper", "zvmconnector",
}  # fmt: skip
AMPHORAE = {"pyroute2"}  # of Octavia's machines, which ours has none of
SERVICES = ("keystone", "placement", "glance", "nova", "neutron", "cinder", "heat", "horizon", "openstack_dashboard")
SHARED = ("os_brick", "os_vif", "glance_store", "neutron_lib", "oslo_messaging", "oslo_privsep", "keystonemiddleware")
MORE = ("barbican", "designate", "magnum", "manila", "octavia", "octavia_lib", "ovn_octavia_provider")


def imported(file: Path) -> Iterator[str]:
    """Yield the packages that a module imports whenever it is imported itself."""
    for one in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(one, ast.Import):
            yield from (name.name.partition(".")[0] for name in one.names)
        elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
            yield one.module.partition(".")[0]


@pytest.mark.parametrize("release", ["", "-2026.2"])
@pytest.mark.parametrize(
    ("name", "packages", "absent"),
    [("openstack", SERVICES + SHARED, ABSENT), ("openstack-more", MORE, ABSENT | AMPHORAE)],
)
def test_every_package_that_services_import_is_there(
    image: Callable[[str], Image], name: str, release: str, packages: tuple[str, ...], absent: set[str]
) -> None:
    root = image(name + release).root
    places = [root / "var/lib/openstack/lib/python3.13/site-packages", root / "usr/lib/python3/dist-packages"]
    there = {one.name.partition(".")[0] for place in places for one in place.iterdir()} | set(sys.stdlib_module_names)
    files = [file for one in packages for file in (places[0] / one).rglob("*.py") if "/tests/" not in str(file)]
    assert len(files) > 500
    missing = {name: str(file) for file in files for name in imported(file) if name not in there | absent}
    assert missing == {}
