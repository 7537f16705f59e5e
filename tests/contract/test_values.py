"""Every value we set exists in the real charts, with a type they can take; values that must agree do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import references
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example
from ansible_collections.groundup.cloud.tests.unit.plan.identity_cases import CA, domain

from .conftest import BUILT_IN, chart_values
from .derive import types

# Maps whose keys are free: the charts pass them on, or look an endpoint up by name and fall back to "default".
FREE = [
    re.compile(pattern)
    for pattern in (
        r"endpoints\.\w+\.(hosts|host_fqdn_override|scheme|path)(\..+)?",
        r"endpoints\.\w+\.port\.\w+\.\w+",
        r"endpoints\.\w+\.auth(\..+)?",
        rf"conf\.({'|'.join(RECORDS)})\.[\w:]+(\.\w+)?",  # sections and options of oslo.config; of a server's own file
        r"conf\.(ovn_agent|plugins\.\w+|backends)\.\w+(\.\w+)?",  # Neutron and Cinder have more files of that kind
        r"conf\.\w+_uwsgi\.uwsgi\.[\w-]+",  # options of uWSGI
        r"pod\.probes\..+\.params\.\w+",  # Kubernetes' own
        r"pod\.resources\.(central|mdns|producer|worker)(\..+)?",  # Designate's chart reads them, and writes none
        r"endpoints\.(compute|network)",  # Magnum asks the catalog, its chart knows nothing of them
        r"manifests\.job_image_repo_sync",  # Designate's chart alone has no such job
        r"pod\.affinity\.anti\.weight(\.default)?",  # helm-toolkit reads it for every chart
        r"conf\.ks_domains(\..+)?",  # of which the chart has a comment alone
        r"conf\.horizon\.local_settings\.config\.keystone_domains\.\w+",
    )
]
SCALARS = {bool: "boolean", int: "number", float: "number", str: "string"}


def violations(values: Any, known: Any, path: str = "") -> Iterator[str]:
    """Yield what in ``values`` the chart with the key tree ``known`` does not have, or has as another type."""
    for key, value in values.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(known, dict) and key in known:
            yield from _compare(value, known[key], here)
        elif not any(pattern.fullmatch(here) for pattern in FREE):
            yield f"{here} does not exist in the chart"


def _compare(value: Any, known: Any, here: str) -> Iterator[str]:
    reference = isinstance(value, dict) and "$secret" in value
    free = any(pattern.fullmatch(here) for pattern in FREE)
    if known in ("null", "map") or value is None:
        return
    if isinstance(value, dict) and not reference:
        if isinstance(known, dict):
            yield from violations(value, known, here)
        elif not free:
            yield f"{here} is a map here and a {known} in the chart"
        return
    mine = "string" if reference else "list" if isinstance(value, list) else SCALARS[type(value)]
    if known != mine and not free:
        yield f"{here} is a {mine} here and a {known if isinstance(known, str) else 'map'} in the chart"


def test_every_key_we_set_exists_in_the_real_chart_with_a_compatible_type(plan: Plan, keys: Any) -> None:
    found = {release.name: list(violations(release.values, keys[release.chart])) for release in plan.openstack.releases}
    assert not {name: faults for name, faults in found.items() if faults}


def test_values_of_a_directory_exist_in_both_charts(keys: Any) -> None:
    site = changed(example("cloud"), domain(ca=CA))
    plan = with_values(make_plan(build_site(site)))
    for release in plan.openstack.releases:
        if release.name in ("keystone", "horizon"):
            assert not list(violations(release.values, keys[release.chart]))
            unknown = [fault for fault in violations(release.values, types(chart_values(release.chart)))
                       if not fault.startswith(("manifests.", "images.tags."))]  # fmt: skip
            assert not unknown


def test_a_key_the_chart_does_not_have_is_found(keys: Any) -> None:
    faults = list(violations({"pod": {"replicas": {"servers": 3}}, "labels": "x"}, keys["mariadb"]))
    assert faults == [
        "pod.replicas.servers does not exist in the chart",
        "labels is a string here and a map in the chart",
    ]


def test_the_built_in_chart_knows_every_key_we_set_but_switches_of_what_it_does_not_have(plan: Plan) -> None:
    """A value the built-in chart passes over in silence would be a lie."""
    switch = re.compile(r"manifests\.\w+ |images\.tags\.\w+ ")
    for release in plan.openstack.releases:
        own = chart_values(release.chart)
        unknown = [fault for fault in violations(release.values, types(own)) if not switch.match(fault)]
        assert not unknown, release.name
        off = [name for name in release.values["manifests"] if name not in own["manifests"]]
        assert not any(release.values["manifests"][name] for name in off), release.name


def test_the_database_administrator_is_the_same_everywhere(plan: Plan) -> None:
    admins = [release.values["endpoints"]["oslo_db"]["auth"]["admin"] for release in with_endpoint(plan, "oslo_db")]
    assert len(admins) >= 2
    assert all(admin == admins[0] for admin in admins)


def test_the_message_queues_administrator_and_size_are_what_its_users_believe(plan: Plan) -> None:
    queue = next(release for release in plan.openstack.releases if release.name == "rabbitmq").values
    users = [release for release in with_endpoint(plan, "oslo_messaging") if release.name != "rabbitmq"]
    assert users
    for user in users:
        endpoint = user.values["endpoints"]["oslo_messaging"]
        assert endpoint["auth"]["admin"] == queue["endpoints"]["oslo_messaging"]["auth"]["user"]
        assert endpoint["statefulset"]["replicas"] == queue["pod"]["replicas"]["server"]


def test_the_cache_is_encrypted_with_one_key_of_ours(plan: Plan) -> None:
    keys = [release.values["endpoints"]["oslo_cache"]["auth"] for release in with_endpoint(plan, "oslo_cache")]
    assert keys
    assert all(key == {"memcache_secret_key": {"$secret": "memcached/secret-key"}} for key in keys)


def test_every_cache_of_the_real_charts_is_one_that_no_other_pod_writes(plan: Plan, keys: Any) -> None:
    """Their default is Memcached, whose client unpickles; they replace an empty list of servers by the Service."""

    unused = {"metadata_agent", "ovn_metadata_agent"}  # files of agents that never run

    def caches(known: Any, values: Any) -> Iterator[Any]:
        for name, below in known.items():
            if isinstance(below, dict) and name not in unused:
                if name == "cache" and "backend" in below:
                    yield values.get(name)
                yield from caches(below, values.get(name) or {})

    for release in plan.openstack.releases:
        conf, known = release.values.get("conf", {}), keys[release.chart].get("conf") or {}
        for cache in caches(known, conf):
            assert cache in ({"enabled": False}, {"enabled": True, "backend": "dogpile.cache.null"}), release.name
        if "keystone_authtoken" in known.get(release.name, {}):
            assert conf[release.name]["keystone_authtoken"]["memcached_servers"] == " ", release.name


def test_quorum_services_have_an_odd_number_of_members(plan: Plan) -> None:
    for release in plan.openstack.releases:
        if RECORDS[release.name].quorum:
            assert release.values["pod"]["replicas"]["server"] % 2 == 1


def test_every_image_comes_from_the_sites_registry_with_a_version(plan: Plan) -> None:
    for release in plan.openstack.releases:
        for tag, image in release.values["images"]["tags"].items():
            assert image.startswith(plan.supply.registry + "/"), tag
            assert not image.endswith(":latest"), tag


def test_no_password_stands_in_the_values(plan: Plan) -> None:
    """Every leaf called password, key or cookie is a reference."""
    word = re.compile(r"(password|secret_key|cookie)$")

    def walk(value: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                here = f"{path}.{key}"
                if word.search(str(key)) and not (isinstance(item, dict) and "$secret" in item):
                    yield here
                yield from walk(item, here)

    found = [where for release in plan.openstack.releases for where in walk(release.values, release.name)]
    assert not found


def test_every_secret_the_values_refer_to_is_in_a_record(plan: Plan) -> None:
    used: frozenset[str] = frozenset().union(*(references(release.values) for release in plan.openstack.releases))
    assert used <= secrets().keys()


def test_releases_need_only_releases_that_exist(plan: Plan) -> None:
    names = {release.name for release in plan.openstack.releases}
    assert all(set(release.needs) <= names for release in plan.openstack.releases)


def test_the_same_plan_gives_the_same_values(plan: Plan) -> None:
    assert with_values(plan) == plan == with_values(plan)


def with_endpoint(plan: Plan, name: str) -> list[Any]:
    """Return the releases whose values speak of endpoint ``name``."""
    return [release for release in plan.openstack.releases if name in release.values["endpoints"]]


def test_every_deployed_service_has_a_built_in_chart_and_facts_of_the_real_one(facts: Any) -> None:
    assert set(BUILT_IN) == set(facts) == set(RECORDS)


def test_what_logs_in_as_it_starts_waits_for_its_account(plan: Plan) -> None:
    nova = next(release for release in plan.openstack.releases if release.name == "nova").values
    for name in ("conductor", "scheduler"):
        assert "nova-ks-user" in nova["dependencies"]["static"][name]["jobs"]


def test_a_secret_given_to_a_charts_own_pod_is_for_everyone_in_it(plan: Plan) -> None:
    """The real charts give a pod's user no group, so of 0440 it could read nothing."""
    mounts = [release.values["pod"].get("mounts", {}) for release in plan.openstack.releases]
    pods = [pod for each in mounts for component in each.values() for pod in component.values()]
    secrets = [volume["secret"] for pod in pods for volume in pod["volumes"] if "secret" in volume]
    assert secrets
    assert all(secret["defaultMode"] & 0o004 for secret in secrets)


def test_who_asks_barbican_for_keys_and_certificates_does_so_at_the_clusters_keystone(plan: Plan) -> None:
    names = {"cinder", "glance", "nova"}
    found = {one.name: one.values["conf"][one.name] for one in plan.openstack.releases if one.name in names}
    assert set(found) == names
    for conf in found.values():
        assert conf["key_manager"] == {"backend": "barbican"}
        assert conf["barbican"]["auth_endpoint"].startswith(f"http://keystone-api.{plan.openstack.namespace}.svc.")
        assert conf["barbican"]["barbican_endpoint_type"] == "internal"


def test_no_service_that_has_rules_is_without_scope_and_default_roles(plan: Plan) -> None:
    """With either set of charts: it is their values that say so."""
    without = {
        release.name
        for release in plan.openstack.releases
        if release.values.get("conf", {}).get(release.name, {}).get("oslo_policy")
        != {"enforce_scope": True, "enforce_new_defaults": True}
    }
    assert without == {"mariadb", "memcached", "rabbitmq", "horizon", "ceph-rgw"}
