"""What a member of the database tells of the cloud: real MariaDB, with tables as the images' services define them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import services
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text

from .conftest import Image
from .test_services import CHARTS, _owned

# Of each service in a process of its own: their options have the same names.
_TABLES = """
import importlib, sys
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import CreateTable
for place in sys.argv[1:]:
    schema, module, *names = place.split()
    print(f"CREATE DATABASE {schema}; USE {schema};")
    for name in names:
        table = getattr(importlib.import_module(module), name).__table__
        made = CreateTable(table, include_foreign_key_constraints=[])
        print(f"{made.compile(dialect=mysql.dialect())};")
"""
_MODELS = (
    ("nova nova.db.main.models Service Instance", "nova_cell0 nova.db.main.models Instance",
     "nova_api nova.db.api.models BuildRequest"),
    ("cinder cinder.db.sqlalchemy.models Service Volume",), ("neutron neutron.db.models.agent Agent",),
)  # fmt: skip
_OF_ANOTHER_IMAGE = """
CREATE DATABASE octavia; CREATE TABLE octavia.load_balancer
  (id VARCHAR(36), provisioning_status VARCHAR(16), created_at DATETIME, updated_at DATETIME);
"""
# Heartbeats that are young as long as the test takes, and old ones. A former pod's scheduler stays in the table.
_ROWS = """
SET SESSION sql_mode = '';
SET @now = UTC_TIMESTAMP() + INTERVAL 30 MINUTE, @ago = UTC_TIMESTAMP() - INTERVAL 90 MINUTE;
INSERT INTO nova.services (host, `binary`, topic, report_count, last_seen_up, created_at, disabled, forced_down,
  deleted)
VALUES ('one', 'nova-compute', 'a', 1, @now, @ago, 0, 0, 0), ('two', 'nova-compute', 'b', 1, @ago, @ago, 0, 0, 0),
  ('three', 'nova-compute', 'c', 1, @ago, @ago, 1, 0, 0), ('four', 'nova-compute', 'd', 1, @now, @ago, 0, 1, 0),
  ('five', 'nova-compute', 'e', 0, NULL, @now, 0, 0, 0), ('gone', 'nova-compute', 'f', 1, @ago, @ago, 0, 0, 7),
  ('pod-a', 'nova-scheduler', 'g', 1, @ago, @ago, 0, 0, 0), ('pod-b', 'nova-scheduler', 'h', 1, @now, @ago, 0, 0, 0),
  ('pod-a', 'nova-conductor', 'i', 1, @ago, @ago, 0, 0, 0),
  ('pod-c', 'nova-osapi_compute', 'j', 0, @ago, @ago, 0, 0, 0);
INSERT INTO nova.instances (uuid, vm_state, task_state, created_at, updated_at, deleted, user_data)
VALUES ('1', 'active', NULL, @ago, NULL, 0, 'SECRET'), ('2', 'error', NULL, @ago, @now, 0, ''),
  ('3', 'error', NULL, @ago, @ago, 0, ''), ('4', 'error', NULL, @ago, @ago, 4, ''),
  ('5', 'building', 'spawning', @ago, NULL, 0, ''), ('6', 'building', 'spawning', @now, NULL, 0, ''),
  ('7', 'active', 'deleting', @ago, @ago, 0, ''), ('8', 'active', 'migrating', @ago, @ago, 0, '');
INSERT INTO nova_cell0.instances (uuid, vm_state, created_at, deleted) VALUES ('9', 'error', @now, 0);
INSERT INTO nova_api.build_requests (instance_uuid, project_id, created_at) VALUES ('10', 'p', @ago), ('11', 'p', @now);
INSERT INTO cinder.services (host, `binary`, updated_at, disabled, deleted)
VALUES ('pod-a', 'cinder-scheduler', @now, 0, 0), ('worker@rbd1', 'cinder-volume', @ago, 0, 0);
INSERT INTO cinder.volumes (id, status, created_at, updated_at, deleted)
VALUES ('1', 'error_deleting', @ago, @ago, 0), ('2', 'deleting', @ago, @ago, 0), ('3', 'in-use', @ago, @ago, 0);
INSERT INTO neutron.agents (id, agent_type, `binary`, host, heartbeat_timestamp, admin_state_up)
VALUES ('1', 'NIC Switch agent', 'neutron-sriov-nic-agent', 'one', @now, 1);
INSERT INTO octavia.load_balancer (id, provisioning_status, created_at, updated_at)
VALUES ('1', 'ACTIVE', @ago, NULL), ('2', 'ERROR', @ago, @now), ('3', 'PENDING_UPDATE', @ago, @ago);
"""
_RUN = r"""
import os, pathlib, subprocess, sys, time
sys.path.insert(0, "/opt/bin")
import exporter, galera_data
env = {f"MYSQL_DB{who}_{what}": value for who, name in (("ADMIN", "root"), ("SST", "sst"), ("AUDIT", "audit"))
       for what, value in (("USERNAME", name), ("PASSWORD", "word"))}
os.environ |= {"MYSQL_PORT": "3306", "AUDIT_USERNAME": "audit"}
exporter.PASSWORD = pathlib.Path("/tmp/word"); exporter.PASSWORD.write_text("word")
accounts, narrow = pathlib.Path("/tmp/accounts.sql"), pathlib.Path("/tmp/narrow.sql")
accounts.write_text(galera_data.accounts_sql(env)); narrow.write_text(galera_data.narrowing_sql(env))
subprocess.run(["mariadb-install-db", "--skip-test-db", "--auth-root-authentication-method=normal"],
               stdout=subprocess.DEVNULL, check=True)
log = open("/tmp/log", "wb")
subprocess.run(["mariadbd", "--skip-networking", f"--init-file={accounts}"], stdout=log, stderr=log)
def started():
    server = subprocess.Popen(["mariadbd", f"--init-file={narrow}"], stdout=log, stderr=log)
    while "mysql_up 0" in exporter.told():
        assert server.poll() is None, open("/tmp/log").read()
        time.sleep(0.3)
    return server
def say(what):
    print("==", what); print(*exporter.told_of_cloud(), sep="\n")
def sql(text, user="root"):
    done = subprocess.run(["mariadb", f"-u{user}", "-pword", "-BN"], input=text, text=True, capture_output=True)
    return done.stdout + done.stderr.partition(" at line")[0].strip()
server = started()
say("no tables")
print(sql(open("/mnt/tables.sql").read()), sql(open("/mnt/rows.sql").read()))
say("tables")
print("== refused")
for text in ("SELECT user_data FROM nova.instances", "SELECT host FROM nova.services", "SHOW TABLES IN cinder",
             "DROP PROCEDURE groundup.nova_agents",
             "CREATE TABLE groundup.t (a INT)", "SELECT authentication_string FROM mysql.user"):
    print(sql(text, "audit").split("\n")[-1])
print(sql("SHOW GRANTS FOR audit@'%'"))
sql("DROP TABLE nova_cell0.instances; DROP TABLE octavia.load_balancer")
server.terminate(); server.wait()
server = started()  # from its second start on, all is there already
say("without some")
server.terminate(); server.wait()
say("silent")
"""


def test_a_member_tells_of_services_and_of_what_failed_and_its_account_reads_no_row(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    tables = ""
    for places in _MODELS:
        made = image("openstack").run("python3", "-W", "ignore", "-c", _TABLES, *places)
        assert made.returncode == 0, made.stdout
        tables += "CREATE" + made.stdout.partition("CREATE")[2]
    given = tmp_path / "given"
    given.mkdir()
    (given / "tables.sql").write_text(tables + _OF_ANOTHER_IMAGE)
    (given / "rows.sql").write_text(_ROWS)
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999)}
    mounts |= {"/mnt": given, "/opt/bin": CHARTS / "mariadb/files"}
    done = image("mariadb").run("python3", "-c", _RUN, uid=999, mounts=mounts)
    assert done.returncode == 0, done.stdout
    said = dict(part.split("\n", 1) for part in done.stdout.split("== ")[1:])
    agents = """\
openstack_cinder_agent_state{adminState="enabled",hostname="worker@rbd1",service="cinder-volume"} 0
openstack_cinder_agent_state{adminState="enabled",hostname="",service="cinder-scheduler"} 1
openstack_neutron_agent_state{adminState="enabled",hostname="one",service="neutron-sriov-nic-agent"} 1
openstack_nova_agent_state{adminState="disabled",hostname="four",service="nova-compute"} 1
openstack_nova_agent_state{adminState="disabled",hostname="three",service="nova-compute"} 0
openstack_nova_agent_state{adminState="enabled",hostname="",service="nova-conductor"} 0
openstack_nova_agent_state{adminState="enabled",hostname="",service="nova-scheduler"} 1
openstack_nova_agent_state{adminState="enabled",hostname="five",service="nova-compute"} 1
openstack_nova_agent_state{adminState="enabled",hostname="one",service="nova-compute"} 1
openstack_nova_agent_state{adminState="enabled",hostname="two",service="nova-compute"} 0
"""
    volumes = objects("volumes", error=1, failed=0, stuck=1)
    every = agents + volumes + objects("instances", error=3, failed=2, stuck=3)
    every += objects("load balancers", error=1, failed=1, stuck=1)
    assert passed_on(said["no tables"]) == passed_on(said["silent"]) == []
    assert passed_on(said["tables"]) == sorted(every.splitlines())
    assert passed_on(said["without some"]) == sorted((agents + volumes).splitlines())
    *refused, first, second = said["refused"].strip().split("\n")
    assert all("ERROR 1" in line for line in refused), refused
    assert first.startswith("GRANT USAGE ON *.* TO `audit`@`%`")
    assert second == "GRANT EXECUTE ON `groundup`.* TO `audit`@`%`"


def objects(kind: str, **numbers: int) -> str:
    """Return what is told of objects of a kind."""
    each = (f'groundup_cloud_objects{{kind="{kind}",state="{state}"}} {one}\n' for state, one in numbers.items())
    return "".join(each)


def passed_on(said: str) -> list[str]:
    """Return what the host of a member passes on of what it says."""
    told = (one._replace(labels=dict(sorted(one.labels.items()))) for one in services._told(said, services._DATABASE))
    return text(told).splitlines()
