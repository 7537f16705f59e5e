"""One record a service: found by itself, complete, and read without what only a rollout needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import services
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, needs, of_kind, provider
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secrets

ROOT = Path(__file__).resolve().parents[3]
UTILS = "ansible_collections.groundup.cloud.plugins.plugin_utils"


def imported_with(module: str) -> set[str]:
    """Return the modules a fresh Python has after it imported ``module``."""
    code = f"import sys, {UTILS}.{module}; print(*sys.modules, sep='\\n')"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_plan_reads_records_without_a_client_library_or_the_rollout() -> None:
    found = imported_with("plan")
    assert f"{UTILS}.services.keystone" in found
    assert not {"kubernetes", "urllib3", "requests", "cryptography"} & found
    assert not {name for name in found if name.startswith((f"{UTILS}.rollout", f"{UTILS}.kube", f"{UTILS}.helm"))}


def test_records_know_nothing_of_the_plan() -> None:
    assert not {name for name in imported_with("services.keystone") if name.startswith(f"{UTILS}.plan")}


def test_the_documentation_names_every_secret() -> None:
    page = (ROOT / "docs/charts.md").read_text()
    assert not [name for name in secrets() if f"| `{name}` |" not in page]


def test_each_record_is_in_the_module_of_its_name() -> None:
    files = Path(services.__file__).parent.glob("*.py")
    modules = [path.stem.replace("_", "-") for path in files if "SERVICE = " in path.read_text()]
    assert sorted(RECORDS) == sorted(modules), "of two records of one name, one is lost"


def test_infrastructure_comes_first_then_services_by_name() -> None:
    shared, others = ([record.name for record in of_kind(kind)] for kind in ("infrastructure", "service"))
    assert list(RECORDS) == [*shared, *others] == [*sorted(shared), *sorted(others)]


def test_needs_follow_from_the_use_of_database_queue_and_cache() -> None:
    assert needs(RECORDS["keystone"]) == ("mariadb", "memcached")
    assert needs(RECORDS["nova"]) == ("mariadb", "rabbitmq", "memcached", "keystone", "placement", "neutron", "glance")


@pytest.mark.parametrize("facility", ["database", "queue", "cache"])
def test_each_facility_has_one_provider(facility: str) -> None:
    assert [record.name for record in RECORDS.values() if record.provides == facility] == [provider(facility).name]  # type: ignore[arg-type]  # pytest gives a plain str
