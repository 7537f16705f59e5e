"""tempest.conf says of a site what its plan says."""

from __future__ import annotations

import configparser
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import settings
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.suites import SUITES
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.target import Target, of_plan, promised

ROOT = Path(__file__).resolve().parents[3]
SITES = sorted(path.relative_to(ROOT) for path in ROOT.glob("inventories/*/site.yml"))
CLOUD = Path("inventories/cloud/site.yml")
OBJECTS = Path("tests/e2e/objects/site.yml")
ASKED = settings.CloudFacts(
    extensions=["port-security", "router"], versions={"nova": ("2.1", "2.100"), "cinder": ("3.0", "3.71")},
    network=("net-1", "provider"),
)  # fmt: skip
GROUND = settings.Prepared(
    prefix="gu00000001", images=("image-1", "image-2"), flavors=("flavor-1", "flavor-2"), image_user="guest",
    account={"username": "gu00000001-admin", "password": "of$it", "project_name": "p", "domain_name": "Default"},
)  # fmt: skip


def target(site: Path) -> Target:
    return of_plan(site_plan(ROOT / site))


def written(site: Target, suite: str = "smoke") -> configparser.RawConfigParser:
    found = settings.sections(site, ASKED, GROUND, SUITES[suite], directory=Path("/run/dir"))
    file = configparser.RawConfigParser(default_section="")
    file.read_string(settings.text(found))
    return file


@pytest.mark.parametrize("site", SITES, ids=str)
def test_every_shipped_site_has_settings_with_its_services_and_its_names(site: Path) -> None:
    plan = site_plan(ROOT / site)
    if "keystone" not in plan.openstack.services:
        pytest.skip("it has no cloud: a connection to it is refused before")
    file = written(of_plan(plan))
    for name in ("cinder", "glance", "neutron", "nova", "heat", "barbican", "designate"):
        assert file.getboolean("service_available", name) == (name in plan.openstack.services)
    assert file["identity"]["region"] == plan.openstack.region
    assert file["identity"]["uri_v3"].startswith("https://identity.")
    assert not any("None" in value for section in file.sections() for value in dict(file[section]).values())


def test_two_hypervisors_with_disks_in_ceph_migrate_without_copying_them() -> None:
    features = written(target(CLOUD))["compute-feature-enabled"]
    wanted = {
        "live_migration": "true", "cold_migration": "true", "resize": "true", "config_drive": "true",
        "block_migration_for_live_migration": "false", "volume_backed_live_migration": "true", "ide_bus": "true",
        "vnc_console": "true", "volume_multiattach": "false", "attach_encrypted_volume": "false",
        "vtpm_live_migration": "false",
    }  # fmt: skip
    assert {name: features[name] for name in wanted} == wanted
    assert written(target(CLOUD))["compute"]["min_compute_nodes"] == "2"


def test_one_hypervisor_has_nowhere_to_migrate_to() -> None:
    features = written(replace(target(CLOUD), hypervisors=1))["compute-feature-enabled"]
    assert {features[name] for name in ("live_migration", "cold_migration", "resize", "shelve_migrate")} == {"false"}


def test_disks_on_hypervisors_are_copied_by_a_live_migration() -> None:
    features = written(replace(target(CLOUD), shared_disks=False))["compute-feature-enabled"]
    assert features["block_migration_for_live_migration"] == "true"


@pytest.mark.parametrize(("site", "driver"), [(CLOUD, "ceph"), (OBJECTS, "swift")], ids=str)
def test_backups_are_where_the_site_keeps_them(site: Path, driver: str) -> None:
    file = written(target(site))
    assert file["volume"]["backup_driver"] == driver
    assert file["volume-feature-enabled"]["backup"] == "true"


def test_a_site_without_ceph_has_no_backups_and_nothing_that_only_ceph_can() -> None:
    file = written(replace(target(CLOUD), backups="", volumes_in_ceph=False))
    assert "backup_driver" not in file["volume"]
    features = file["volume-feature-enabled"]
    assert {features[one] for one in ("backup", "manage_volume", "manage_snapshot", "volume_revert")} == {"false"}


def test_services_beyond_the_core_are_tested_where_the_site_has_them() -> None:
    file = written(target(OBJECTS))
    assert file["service_available"]["swift"] == "true"
    assert file["service_available"]["barbican"] == "true"
    assert file["service_available"]["load_balancer"] == "true"
    assert file["load_balancer"]["provider"] == "ovn"
    assert file["loadbalancer-feature-enabled"]["l7_protocol_enabled"] == "false"
    features = file["compute-feature-enabled"]
    assert (features["attach_encrypted_volume"], features["vtpm_live_migration"]) == ("true", "true")


def test_names_of_options_keep_their_case() -> None:
    found = settings.sections(target(OBJECTS), ASKED, GROUND, SUITES["api"], directory=Path("/run/dir"))
    assert "RBAC_test_type = keystone_default_roles" in settings.text(found)


def test_answers_of_the_cloud_are_written() -> None:
    file = written(target(CLOUD))
    assert file["network-feature-enabled"]["api_extensions"] == "port-security,router"
    assert file["network"]["public_network_id"] == "net-1"
    assert (file["compute"]["min_microversion"], file["compute"]["max_microversion"]) == ("2.1", "2.100")
    assert file["volume"]["max_microversion"] == "3.71"
    assert "max_microversion" not in (file["placement"] if file.has_section("placement") else {})


def test_what_the_run_made_is_used_and_named() -> None:
    file = written(target(CLOUD))
    assert file["DEFAULT"]["resource_name_prefix"] == "gu00000001"
    assert (file["compute"]["image_ref"], file["compute"]["flavor_ref_alt"]) == ("image-1", "flavor-2")
    assert file["auth"]["admin_username"] == "gu00000001-admin"
    assert file["auth"]["admin_password"] == "of$$it", "oslo.config reads a single $ as a reference"
    assert file["auth"]["admin_system"] == "all"
    assert file["oslo_concurrency"]["lock_path"] == "/run/dir/locks"


def test_scopes_are_enforced_in_every_service() -> None:
    assert set(written(target(OBJECTS))["enforce_scope"].values()) == {"true"}


def test_what_keystone_does_with_domains_and_passwords_is_what_its_tests_expect() -> None:
    file = written(target(CLOUD))
    assert file["identity-feature-enabled"]["domain_specific_drivers"] == "true", "as in both sets of charts"
    assert file["identity-feature-enabled"]["security_compliance"] == "false", "the site has no rules of that kind"
    assert "user_unique_last_password_count" not in file["identity"]
    file = written(replace(target(CLOUD), password_history=3))
    assert file["identity-feature-enabled"]["security_compliance"] == "true"
    assert file["identity"]["user_unique_last_password_count"] == "3"


def test_only_suites_with_logins_ask_for_them_and_emulated_guests_get_more_time() -> None:
    assert written(target(CLOUD), "smoke")["validation"]["run_validation"] == "true"
    assert written(target(CLOUD), "api")["validation"]["run_validation"] == "false"
    slow, fast = target(CLOUD), replace(target(CLOUD), emulated=False)
    assert slow.emulated
    assert int(written(slow)["compute"]["build_timeout"]) == 3 * int(written(fast)["compute"]["build_timeout"])
    assert settings.test_timeout(slow) == 3 * settings.test_timeout(fast)


def test_a_certificate_of_a_public_authority_needs_no_file() -> None:
    assert target(CLOUD).ca is not None
    assert "ca_certificates_file" not in written(replace(target(CLOUD), ca=None))["identity"]


@pytest.mark.parametrize("services", [{"keystone"}, {"keystone", "glance", "nova", "neutron"}], ids=len)
def test_nothing_is_written_empty_as_tempest_loads_no_test_with_an_empty_url(services: set[str]) -> None:
    bare = Target(
        name="any", region="one", auth_url="https://c.example.com/v3", ca=None, services=frozenset(services),
        hypervisors=0,
    )  # fmt: skip
    file = written(bare)
    assert [(section, name) for section in file.sections() for name, value in file[section].items() if not value] == []


def test_an_operators_settings_are_over_ours() -> None:
    found = settings.sections(target(CLOUD), ASKED, GROUND, SUITES["smoke"], directory=Path("/run/dir"))
    text = settings.text(settings.merged(found, {"compute-feature-enabled": {"resize": False}, "x": {"y": [1, 2]}}))
    assert "resize = false" in text
    assert "y = 1,2" in text
    assert "live_migration = true" in text


def test_neutrons_values_promise_extensions() -> None:
    plan = site_plan(ROOT / CLOUD)
    assert {"router", "port-security"} <= set(promised(plan))
    releases = tuple(
        replace(one, values={"conf": {"neutron": {"DEFAULT": {"service_plugins": "ovn-router, trunk,qos"}}}})
        if one.name == "neutron"
        else one
        for one in plan.openstack.releases
    )
    assert list(promised(replace(plan, openstack=replace(plan.openstack, releases=releases)))) == [
        "router", "trunk", "qos",
    ]  # fmt: skip


def test_heats_plugin_gets_an_account_only_where_there_is_a_heat() -> None:
    """It logs in whenever tests are listed."""
    assert written(target(OBJECTS))["heat_plugin"]["username"] == "gu00000001-admin"
    without = replace(target(OBJECTS), services=target(OBJECTS).services - {"heat"})
    assert not written(without).has_section("heat_plugin")
