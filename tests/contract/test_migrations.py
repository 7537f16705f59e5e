"""Migrations of the built-in charts: expand beside former pods, new pods, then contract."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
import yaml

from .conftest import name_of
from .test_builtin_charts import pods

EXPANDS = {"keystone": True, "glance": True, "neutron": False}  # whether there is something to contract afterwards
CHECKED = ("nova", "placement")
MIGRATED = ("cinder", *EXPANDS, *CHECKED)  # what migrate.py migrates


def job(items: list[dict[str, Any]], component: str) -> dict[str, Any]:
    """Return the job of ``component``."""
    (found,) = [
        item for item in items if item["kind"] == "Job" and item["metadata"]["labels"]["component"] == component
    ]
    return found


def container(item: dict[str, Any]) -> dict[str, Any]:
    return dict(item["spec"]["template"]["spec"]["containers"][0])


def migration(item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the verb and the commands of a job of migrate.py."""
    python, program, verb, commands = container(item)["command"]
    assert (python, program) == ("python3", "/opt/bin/migrate.py")
    return verb, json.loads(commands)


def env(item: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container(item)["env"] if "value" in one}


def test_no_file_of_policies_is_taken_for_json(rendered: dict[str, Any]) -> None:
    """`{}` is both, and `nova-status` and `placement-status upgrade check` end the migration for it."""
    files = {
        release: base64.b64decode(item["data"]["policy.yaml"]).decode()
        for release, items in rendered.items() for item in items
        if item["kind"] == "Secret" and "policy.yaml" in (item.get("data") or {})
    }  # fmt: skip
    assert files.keys() >= set(MIGRATED)
    for release, text in files.items():
        assert isinstance(yaml.safe_load(text), dict), release
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_while_former_pods_serve_nothing_is_removed_from_a_schema(rendered: dict[str, Any]) -> None:
    for release in EXPANDS:
        verb, said = migration(job(rendered[release], "db-sync"))
        assert verb == "sync"
        beside = " ".join(said["beside"])
        assert "expand" in beside, release
        assert "contract" not in beside, release
        assert "db_sync" not in re.sub(r"db_sync --expand", "", beside), release
        assert "contract" not in said["whole"], "an unused schema is migrated by one process, as ever"


def test_what_only_former_code_needed_goes_when_no_pod_runs_it(rendered: dict[str, Any]) -> None:
    for release in (name for name, contracts in EXPANDS.items() if contracts):
        item = job(rendered[release], "db-contract")
        assert item["metadata"]["annotations"]["helm.sh/hook"] == "post-upgrade", "a fresh install has no such job"
        verb, said = migration(item)
        assert verb == "contract"
        assert "contract" in said["contract"]
        (init,) = item["spec"]["template"]["spec"]["initContainers"]
        waits = {one["name"]: one.get("value") for one in init["env"]}["DEPENDENCY_JOBS"]
        assert waits == job(rendered[release], "db-sync")["metadata"]["name"]
        told = {one["name"] for one in container(item)["env"]}
        assert told == {"NAMESPACE", "APPLICATION", "IMAGES"}, "it needs no administrator's password"
        assert not any("db-contract" in str(pod.get("initContainers")) for _, pod in pods(rendered[release]))


def test_neutron_stops_before_a_contraction(rendered: dict[str, Any]) -> None:
    """Its contractions are offline: neither former nor new servers may run."""
    _, said = migration(job(rendered["neutron"], "db-sync"))
    assert [command.partition("ml2_conf.ini ")[2] for command in said["beside"]] == [
        "has_offline_migrations", "upgrade --expand",
    ]  # fmt: skip


def test_services_ask_their_own_status_check_before_a_migration_beside_former_pods(rendered: dict[str, Any]) -> None:
    for release in CHECKED:
        _, said = migration(job(rendered[release], "db-sync"))
        assert said["checks"] == [f"{release}-status upgrade check"]


def test_a_volume_without_a_service_does_not_stop_cinder_for_ever(rendered: dict[str, Any]) -> None:
    """One that failed, or was adopted, has none: `cinder-status upgrade check` then ends with code 2 each time."""
    verb, said = migration(job(rendered["cinder"], "db-sync"))
    assert (verb, said["whole"], "checks" in said) == ("sync", "cinder-manage db sync", False)


def test_cinders_data_follow_its_schema_when_no_former_pod_is_left(rendered: dict[str, Any]) -> None:
    """The release after refuses data that were not migrated, and no other job of the chart does it."""
    item = job(rendered["cinder"], "db-contract")
    assert item["metadata"]["annotations"]["helm.sh/hook"] == "post-upgrade"
    assert migration(item)[1]["contract"] == "cinder-manage db online_data_migrations"
    mounts = {one["mountPath"] for one in container(item)["volumeMounts"]}
    assert mounts == {one["mountPath"] for one in container(job(rendered["cinder"], "db-sync"))["volumeMounts"]}


def test_no_pod_of_a_release_is_former_to_its_own_migration(rendered: dict[str, Any]) -> None:
    """One of an image that the job does not know would be waited for without an end."""
    for release in MIGRATED:
        said = env(job(rendered[release], "db-sync"))
        assert said["APPLICATION"] == release
        for owner, pod in pods(rendered[release]):
            used = {container["image"] for container in pod["containers"]}
            assert used <= set(said["IMAGES"].split(",")), owner


def test_a_migration_may_list_pods_and_a_contraction_what_makes_them_too(rendered: dict[str, Any]) -> None:
    for release in MIGRATED:
        named = {name_of(item): item for item in rendered[release]}
        for name, listed in (("db-sync", [["pods"]]), ("db-contract", [["pods"], ["replicasets"]])):
            if name == "db-contract" and not EXPANDS.get(release):
                continue
            rules = named[f"Role/{release}-{name}"]["rules"]
            assert [rule["resources"] for rule in rules] == listed
            assert all(rule["verbs"] == ["list"] for rule in rules)
        assert job(rendered[release], "db-sync")["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def test_novas_data_are_migrated_by_a_job_of_every_night_and_not_with_the_schema(rendered: dict[str, Any]) -> None:
    named = {name_of(item): item for item in rendered["nova"]}
    nightly = named["CronJob/nova-data-migrations"]["spec"]
    (it,) = nightly["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert it["command"] == ["python3", "/opt/bin/data-migrations.py"]
    assert it["image"] == container(job(rendered["nova"], "db-sync"))["image"]
    (init,) = nightly["jobTemplate"]["spec"]["template"]["spec"]["initContainers"]
    waits = {one["name"]: one.get("value") for one in init["env"]}["DEPENDENCY_JOBS"]
    assert waits == job(rendered["nova"], "db-sync")["metadata"]["name"], "its code is of the schema's version"
    scripts = named["ConfigMap/nova-bin"]["data"]
    assert "online_data_migrations" in scripts["data-migrations.py"]
    assert "online_data_migrations" not in scripts["db-sync.py"]
