"""Accounts of services in the image's Keystone: what whoever holds one may do there, and who can lock it."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.contract.conftest import plain

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
# As the job found it before: an account with administrator's rights, which five wrong passwords lock.
_BEFORE = """
import json, openstack
user = json.load(open("/mnt/identity.json"))["users"][-1]
cloud = openstack.connect(load_yaml_config=False).identity
domain = cloud.create_domain(name=user["domain"])
project = cloud.create_project(name=user["project"], domain_id=domain.id)
made = cloud.create_user(name=user["name"], password=user["password"], domain_id=domain.id)
cloud.assign_project_role_to_user(project, made, cloud.find_role("admin"))
"""
_RUN = """
cd /tmp
printf '[database]\\nconnection = sqlite:////tmp/db\\n[fernet_tokens]\\nkey_repository = /tmp/keys\\n%s' \\
  '[security_compliance]
lockout_failure_attempts = 5
lockout_duration = 1800
' > /etc/keystone/keystone.conf
mkdir -m 700 keys
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
keystone-manage db_sync > log 2>&1 || { cat log; exit 1; }
keystone-manage fernet_setup > log 2>&1 || { cat log; exit 1; }
url=http://127.0.0.1:5000/v3
keystone-manage bootstrap --bootstrap-password admins-words --bootstrap-region-id one --bootstrap-public-url $url \\
  --bootstrap-internal-url $url > log 2>&1 || { cat log; exit 1; }
uwsgi --http-socket 127.0.0.1:5000 --need-app --master --buffer-size 65535 --add-header "Connection: close" \\
  --module keystone.wsgi.api:application > uwsgi.log 2>&1 &
for _ in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/5000) 2> /dev/null && break; sleep 0.2; done
export OS_AUTH_URL=$url OS_USERNAME=admin OS_PASSWORD=admins-words OS_PROJECT_NAME=admin OS_REGION_NAME=one \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_DEFAULT_DOMAIN=default \\
  OS_IDENTITY_API_VERSION=3
python3 -c "$BEFORE"
python3 /mnt/identity.py /mnt/identity.json > identity.log 2>&1 || { cat identity.log uwsgi.log; exit 1; }
python3 /mnt/identity.py /mnt/identity.json > again.log 2>&1 || { cat again.log uwsgi.log; exit 1; }
bash -euc "$BOOTSTRAP" > bootstrap.log 2>&1 || { cat bootstrap.log; exit 1; }
cat identity.log; echo --; cat again.log; echo --
python3 -W ignore /mnt/accounts.py $url /mnt/identity.json || { cat uwsgi.log | tail -30; exit 1; }
"""

_POLICY = """
import importlib, json, sys
import neutron.policy  # its kinds of checks
from oslo_config import cfg
from oslo_policy import policy
found = {}
for service, module in (("neutron", "neutron.conf.policies"), ("cinder", "cinder.policies")):
    ours = json.load(open("/mnt/policies.json"))[service]
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    enforcer = policy.Enforcer(conf, rules=policy.Rules.from_dict(ours), use_conf=False)
    defaults = list(importlib.import_module(module).list_rules())
    found[service] = {"unknown": sorted(set(ours) - {rule.name for rule in defaults})}
    for rule in defaults:
        enforcer.rules.setdefault(rule.name, rule.check)
    asked = {"neutron": ("get_port", "update_port:binding:host_id", "activate", *ours), "cinder": (
        "volume:attachment_delete", "volume:get", "volume_extension:volume_actions:terminate_connection", "admin_api",
    )}[service]
    target = {"project_id": "theirs", "tenant_id": "theirs"}
    for who, roles in (("service", ["service"]), ("stranger", ["member", "reader"])):
        creds = {"roles": roles, "project_id": "own", "tenant_id": "own", "is_admin_project": True}
        if service == "cinder":
            creds["is_admin"] = enforcer.enforce("context_is_admin", {}, creds)
        kept = [rule for rule in asked if enforcer.enforce(rule, target, creds)]
        found[service][who] = sorted(set(asked) - set(kept)) if who == "service" else kept
print(json.dumps(found))
"""


def _rendered(services: list[str]) -> tuple[dict[str, Any], str, str]:
    """Return Nova's accounts, its configuration for hypervisors and Keystone's bootstrap, as a site renders them."""
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    data["openstack"]["services"] = services
    plan = with_values(make_plan(build_site(data)))
    values = {one.name: plain(one.values) for one in plan.openstack.releases}
    done = subprocess.run(
        [supply.tool("helm"), "template", "nova", ROOT / "charts/nova", "--namespace=openstack", "--values=-"],
        input=yaml.safe_dump(values["nova"]), capture_output=True, text=True, check=True,
    )  # fmt: skip
    (etc,) = [
        item["data"] for item in yaml.safe_load_all(done.stdout)
        if item and item["kind"] == "Secret" and item["metadata"]["name"] == "nova-etc"
    ]  # fmt: skip
    compute = configuration.for_hosts(base64.b64decode(etc["nova-compute.conf"]).decode())
    return json.loads(base64.b64decode(etc["identity.json"])), compute, values["keystone"]["bootstrap"]["script"]


def test_who_holds_a_hypervisors_accounts_is_nobody_in_keystone_and_locks_none(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    accounts, compute, bootstrap = _rendered(["keystone", "placement", "glance", "neutron", "nova"])
    held = [user for user in accounts["users"] if f"username = {user['name']}\n" in compute]
    assert {user["name"] for user in held} == {"nova_neutron", "nova_placement", "nova_cinder", "nova_service"}
    assert "metadata_proxy_shared_secret" not in compute
    tmp_path.chmod(0o755)
    accounts |= {"users": held, "services": []}
    (tmp_path / "identity.json").write_text(json.dumps(accounts))
    for script in (ROOT / "charts/groundup-lib/files/identity.py", Path(__file__).parent / "accounts.py"):
        shutil.copy(script, tmp_path)
    (tmp_path / "keystone").mkdir()
    (tmp_path / "keystone").chmod(0o777)
    done = image("openstack").run(
        "bash", "-euc", _RUN, uid=42424, mounts={"/mnt": tmp_path, "/etc/keystone": tmp_path / "keystone"},
        env={"BEFORE": _BEFORE, "BOOTSTRAP": bootstrap},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    first, again, said = done.stdout.split("--\n")
    last = held[-1]["name"]
    assert f"user {last}: exempt from lockout and expiry" in first, first
    assert "taken away" in first
    assert "password set" not in first + again
    assert "exempt" not in again
    assert "taken away" not in again
    found = json.loads(said.splitlines()[-1])
    for user in held:
        assert found[user["name"]] == {
            "users": 403, "admin": 403, "own": 400, "check": 200, "roles": ["service"], "after": 201,
        }, user["name"]  # fmt: skip
    assert found["admin"] == 201, "who installs logs in whatever others try"
    assert found["person"] == 401, "people keep the lockout"


def test_what_nova_asks_of_other_projects_its_accounts_may_and_strangers_may_not(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    plan = with_values(make_plan(build_site(data)))
    values = {one.name: one.values for one in plan.openstack.releases}
    tmp_path.chmod(0o755)
    policies = {name: values[name]["conf"]["policy"] for name in ("neutron", "cinder")}
    (tmp_path / "policies.json").write_text(json.dumps(policies))
    done = image("openstack").run("python3", "-W", "ignore", "-c", _POLICY, mounts={"/mnt": tmp_path})
    assert done.returncode == 0, done.stdout
    said: dict[str, list[str]] = {
        "unknown": [],
        "service": [],
        "stranger": [],
    }  # rules nobody has, refused to a service, open to strangers
    assert json.loads(done.stdout.splitlines()[-1]) == {"neutron": said, "cinder": said}
