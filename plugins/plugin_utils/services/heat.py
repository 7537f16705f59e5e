"""Heat: stacks."""

from __future__ import annotations

import datetime
import secrets as random
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from .keystone import ADMIN, SERVICE_ROLE
from .parts import WORKERS, ChartNames, api_values, merge, public_endpoint, queued, resources, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_API, _CFN = "orchestration", "cloudformation"
_NAMES = ChartNames(probes=None, labels=("api", "cfn", "engine", "job"))  # only the ports of its probes can be set
_TRUSTEE, _DOMAIN_ADMIN = "heat/trustee", "heat/stack-domain-admin"
_KEY = "heat/secret-key"  # 32 characters, required by Heat
_LENGTH = 12  # characters of the test resource
_PATIENCE = 120.0  # seconds a stack of one resource may take
_PAUSE = 1.0
_TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"word": {"type": "OS::Heat::RandomString", "properties": {"length": _LENGTH}}},
    "outputs": {"word": {"value": {"get_attr": ["word", "value"]}}},
}


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values: the API, the API for signals from guests, and the engine."""
    pods, workers = sizes.pods["heat"], sizes.workers["heat"]
    cfn = public_endpoint(plan, "heat", _CFN)
    place = {"region_name": plan.openstack.region, "user_domain_name": "service", "project_domain_name": "service"}
    own = {
        "endpoints": {
            _CFN: {"path": {"healthcheck": cfn.health_path}},
            "identity": {
                "auth": {
                    # Acts for a stack's creator, with a trust; owns the domain of users that stacks create.
                    "heat_trustee": {
                        **ADMIN, **place, "project_name": "service", "role": SERVICE_ROLE,
                        "username": "heat-trust", "password": secret(_TRUSTEE),
                    },
                    "heat_stack_user": {
                        "region_name": plan.openstack.region, "domain_name": "heat", "role": "admin",
                        "username": "heat-domain", "password": secret(_DOMAIN_ADMIN),
                    },
                }
            },
        },
        "network": {"cfn": {"node_port": {"enabled": True, "port": cfn.node_port}}},
        "conf": merge(
            queued("heat"),
            {
                # The default key is public.
                "heat": {"DEFAULT": {"num_engine_workers": workers, "auth_encryption_key": secret(_KEY)}},
                "heat_api_uwsgi": uwsgi(workers),
                "heat_api_cfn_uwsgi": uwsgi(1),
            },
        ),
        "pod": {
            "replicas": {"cfn": pods, "engine": pods},
            "lifecycle": {"disruption_budget": {"cfn": {"min_available": 1 if pods > 1 else 0}}},
            "resources": {
                "cfn": resources(memory="256Mi", limit="1Gi", cpu=sizes.cpu(50)),
                "engine": resources(memory="256Mi", limit="2Gi", cpu=sizes.cpu(250)),
            },
        },
        # The cleaner would load Heat's libraries every five minutes to remove lost engines.
        "manifests": {"cron_job_engine_cleaner": False, "pod_rally_test": False},
    }  # fmt: skip
    return merge(api_values(plan, sizes, "heat", memory="256Mi", limit="1Gi", cpu=250, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that a stack of one resource is created by an engine, returns its output, and can be deleted."""
    # The catalog's URL contains the project.
    client = client.at(next(one["url"] for one in client.token.catalog if one["type"] == _API))
    now = datetime.datetime.now(datetime.UTC)
    for stack in (client.call("GET", "/stacks").body or {}).get("stacks") or ():
        named = PROBE if str(stack["stack_name"]).startswith(f"{PROBE}-") else ""
        if named and forgotten({"name": named, "created_at": stack["creation_time"]}, now=now):
            client.gone(f"/stacks/{stack['stack_name']}/{stack['id']}")
    name = f"{PROBE}-{random.token_hex(4)}"
    wanted = {"stack_name": name, "template": _TEMPLATE, "timeout_mins": 5}
    made = (client.call("POST", "/stacks", body=wanted, good=201).body or {})["stack"]
    path = f"/stacks/{name}/{made['id']}"
    try:
        stack = _settled(client, path)
    finally:
        client.gone(path)
    gone = _settled(client, path)
    yield judge(stack, gone)


def _settled(client: Client, path: str) -> Mapping[str, Any]:
    """Return a stack once no operation is in progress, or after a timeout."""
    end = time.monotonic() + _PATIENCE
    while True:
        stack: Mapping[str, Any] = (client.call("GET", path).body or {}).get("stack") or {}
        if not str(stack.get("stack_status")).endswith("_IN_PROGRESS") or time.monotonic() > end:
            return stack
        time.sleep(_PAUSE)


def judge(stack: Mapping[str, Any], gone: Mapping[str, Any]) -> Check:
    """Check that a ``stack`` was created with its resource's output, and finally deleted (``gone``)."""
    outputs = {one.get("output_key"): str(one.get("output_value")) for one in stack.get("outputs") or ()}
    status, end = stack.get("stack_status"), gone.get("stack_status")
    wrong = ""
    if status != "CREATE_COMPLETE":
        wrong = f"a stack of one random word is {status}: {stack.get('stack_status_reason')}"
    elif len(outputs.get("word", "")) != _LENGTH:
        wrong = "the stack does not tell the word it made"
    elif end != "DELETE_COMPLETE":
        wrong = f"the deleted stack is {end}: {gone.get('stack_status_reason')}"
    return Check(
        name="stack", ok=not wrong, object="Deployment/heat-engine",
        detail=wrong or "a stack of one resource made, read and deleted",
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="heat",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    # "/" lists versions, without a token: OpenStack-Helm's pipelines have no /healthcheck.
    api=PublicApi(type=_API, host="orchestration", path="/v1/%(project_id)s", port=8004, node_port=30004),
    more_apis=(
        PublicApi(type=_CFN, host="cloudformation", path="/v1", port=8000, node_port=30800, backend="heat-cfn"),
    ),
    images={
        "bootstrap": "openstack-client",
        "heat_api": "openstack",
        "heat_cfn": "openstack",
        "heat_db_sync": "openstack",
        "heat_engine": "openstack",
        "heat_purge_deleted": "openstack",
    },
    secrets={
        _KEY: "encrypts what Heat keeps of stacks' secrets and trusts",
        _TRUSTEE: "Heat's user that acts for a stack's owner",
        _DOMAIN_ADMIN: "administrator of the domain of the users that stacks make",
    },
    workers=WORKERS,
    values=values,
    verify=probe("heat", _ask),
)  # fmt: skip
