"""Keystone's keys and RabbitMQ's definitions are put back: with consent over others, and again after a kill."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import workloads
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.job import RestoreJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import rabbitmq
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.service_keys import CREDENTIALS, TOKENS
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

from .restoring import Make, job

SET = {TOKENS: {"0": "next", "4": "signs"}, CREDENTIALS: {"0": "a", "1": "b"}}
DEFINITIONS: dict[str, Any] = {
    **{kind: [] for kind in rabbitmq.COUNTED},
    "users": [{"name": name, "password_hash": "of the set"} for name in ("rabbitmq", "nova")],
}


class Cluster:
    """Secrets, and an API that may be away."""

    def __init__(self, secrets: Mapping[str, Mapping[str, str]]) -> None:
        self.secrets = {name: self.coded(keys) for name, keys in secrets.items()}
        self.away = False

    @staticmethod
    def coded(keys: Mapping[str, str]) -> dict[str, Any]:
        return {number: base64.b64encode(key.encode()).decode() for number, key in keys.items()}

    def find(self, path: str) -> dict[str, Any] | None:
        if self.away:
            raise ApiError("the API is away", where="", status=0)
        name = path.rpartition("/")[2]
        return {"data": self.secrets[name]} if name in self.secrets else None

    def request(self, method: str, path: str, *, body: dict[str, Any], **_: str) -> None:
        name = body["metadata"]["name"] if method == "POST" else path.rpartition("/")[2]
        data = {**self.secrets.get(name, {}), **body["data"]}
        self.secrets[name] = {number: key for number, key in data.items() if key is not None}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster({TOKENS: {"0": "new", "5": "newest", "4": "signs"}, CREDENTIALS: SET[CREDENTIALS]})
    monkeypatch.setattr(RestoreJob, "_api", lambda *_, **__: found)
    monkeypatch.setattr(workloads, "restart_services", lambda *_, names: {("keystone",): 3}[names])
    return found


def test_keystones_keys_take_the_place_of_others_with_consent_alone(plan: Plan, made: Make, cluster: Cluster) -> None:
    made(contents={"openstack-keys": json.dumps(SET).encode()})
    parts = ["openstack-keys"]
    with pytest.raises(GroundupError, match=rf"Keystone has other keys \({TOKENS}\)(.|\n)*overwrite"):
        job(plan, parts=parts).decide({})
    former = cluster.secrets[TOKENS]
    decided = job(plan, parts=parts, force=["overwrite"]).decide({})
    (row,) = decided["table"]
    assert row["now"] == f"{TOKENS}: other keys; {CREDENTIALS}: the same"
    done = job(plan, parts=parts, force=["overwrite"]).services()
    assert done["changes"] == [f"put back {TOKENS}", "restart 3 pods of Keystone"]
    assert cluster.secrets.pop(f"{TOKENS}.{decided['restore'].lower()}.before-restore") == former
    assert cluster.secrets == {name: Cluster.coded(keys) for name, keys in SET.items()}
    assert job(plan, parts=parts).services()["changes"] == done["changes"][1:], "a run that goes on does what is left"


def test_keys_that_were_rotated_before_a_run_goes_on_are_set_aside_beside_the_first(
    plan: Plan, made: Make, cluster: Cluster
) -> None:
    made(contents={"openstack-keys": json.dumps(SET).encode()})
    former, rotated = cluster.secrets[TOKENS], Cluster.coded({"0": "newer", "5": "next", "4": "signs"})
    job(plan, parts=["openstack-keys"], force=["overwrite"]).decide({})
    for keys in (former, rotated, former):  # by a CronJob; the last: killed before they were replaced
        cluster.secrets[TOKENS] = keys
        job(plan, parts=["openstack-keys"]).services()
    assert [keys for name, keys in sorted(cluster.secrets.items()) if "before" in name] == [former, rotated]


def test_keys_that_are_lost_are_made_again_and_what_nobody_can_say_needs_consent(
    plan: Plan, made: Make, cluster: Cluster
) -> None:
    made(contents={"openstack-keys": json.dumps(SET).encode()})
    cluster.secrets = {}
    cluster.away = True
    with pytest.raises(GroundupError, match="nobody says what there is of openstack-keys"):
        job(plan, parts=["openstack-keys"]).decide({})
    cluster.away = False
    job(plan, parts=["openstack-keys"]).decide({})
    job(plan, parts=["openstack-keys"]).services()
    assert cluster.secrets == {name: Cluster.coded(keys) for name, keys in SET.items()}


def test_rabbitmqs_definitions_are_added_and_its_administrator_keeps_the_stores_password(
    plan: Plan, made: Make, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(plan.site).ensure([rabbitmq.PASSWORD])
    password = open_store(plan.site, write=False).get(rabbitmq.PASSWORD)
    now, asked = {**DEFINITIONS, "users": [{"name": "rabbitmq"}, {"name": "guest"}]}, list[Any]()

    def ask(_api: Any, _space: str, pod: str, given: str, *, put: str | None = None) -> bytes:
        assert (pod, given) == ("rabbitmq-0", password)
        asked.append(put and json.loads(put))
        return json.dumps(now).encode()

    monkeypatch.setattr(rabbitmq, "members", lambda *_: ["rabbitmq-0"])
    monkeypatch.setattr(rabbitmq, "_definitions", ask)
    made(contents={"rabbitmq": json.dumps(DEFINITIONS).encode()})
    job(plan, parts=["rabbitmq"], check=True).decide({})
    now["users"].append({"name": "glance"})
    with pytest.raises(GroundupError, match=r"RabbitMQ has accounts \(glance\)"):
        job(plan, parts=["rabbitmq"]).decide({})
    job(plan, parts=["rabbitmq"], force=["overwrite"]).decide({})
    asked.clear()
    assert job(plan, parts=["rabbitmq"]).services()["changes"] == ["put back RabbitMQ's definitions"]
    assert asked == [{**DEFINITIONS, "users": [{"name": "nova", "password_hash": "of the set"}]}]
    assert cluster
