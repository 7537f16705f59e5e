"""Services of several images on one loopback, with the files that the built-in charts write for an example site.

The cluster's names are 127.0.0.1 here. There is no edge: who asks a public name asks the API behind it (visitor.py).
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.dotted import at
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import neutron_plugins
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge
from ansible_collections.groundup.cloud.tests.contract.conftest import chart_values, plain

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
USER = 42424
_MARIADB = """
mariadb-install-db --user=mysql --skip-test-db > /tmp/log 2>&1 || cat /tmp/log
exec mariadbd $CHARACTERS --bind-address=127.0.0.1 --innodb-flush-log-at-trx-commit=0 --init-file=/mnt/accounts.sql
"""
# Keystone, and after it what the charts' job makes for each service.
_KEYSTONE = """
cd /tmp
mkdir -m 700 keys
printf "[database]\\nconnection = $DATABASE\\n[fernet_tokens]\\nkey_repository = /tmp/keys\\n" \\
  > /etc/keystone/keystone.conf
wait_for answers 3306
keystone-manage db_sync
keystone-manage fernet_setup
keystone-manage bootstrap --bootstrap-password "$ADMIN" --bootstrap-region-id "$REGION" \\
  --bootstrap-public-url "$PUBLIC" --bootstrap-internal-url "$INTERNAL"
uwsgi --http-socket 127.0.0.1:5000 --need-app --master --disable-logging --buffer-size 65535 \\
  --add-header "Connection: close" --module keystone.wsgi.api:application &
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_DEFAULT_DOMAIN=default
for file in /mnt/*.identity.json; do python3 /mnt/identity.py "$file"; done
touch /mnt/identity.done
"""
WAIT = """
wait_for() { for _ in $(seq 600); do "$@" 2>/dev/null && return; sleep 0.5; done; echo "waited for: $*"; exit 1; }
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }
"""
_RABBITMQ = """
printf "load_definitions = /mnt/queue.json\\n" > /etc/rabbitmq/rabbitmq.conf
rabbitmq-server > /tmp/log 2>&1 || tail -n 40 /tmp/log
"""
_ENTER = """
mount --bind "$2" "$1"
mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
"""


def _characters() -> str:
    """Return the chart's own options of character sets, of which faults between tables come."""
    base = chart_values("mariadb")["conf"]["database"]["00_base"]
    return " ".join(
        f"--{key}={value}" for key, value in re.findall(r"(character_set_server|collation_server) = (\S+)", base)
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """What runs in one image; its output is a file in the stage's place."""

    name: str
    root: Path
    script: str
    uid: int = USER
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, Path] = field(default_factory=dict)


class Stage:
    """A site's services without its cluster."""

    def __init__(
        self, place: Path, *services: str, absent: Sequence[str] = (), site: Mapping[str, Any] | None = None
    ) -> None:
        """Plan a site with ``services``; write what their charts do below ``place``.

        ``absent`` are planned alone; ``site`` is merged over the site file.
        """
        place.chmod(0o755)
        self.place, self.services = place, services
        data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
        data["openstack"]["services"] = list(dict.fromkeys(["keystone", *absent, *services]))
        self.plan: Plan = with_values(make_plan(build_site(merge(data, site or {}))))
        self.objects = {name: self.render(name) for name in services}
        accounts = {f"{name}.identity.json": self.file(name, "identity.json") for name in services}
        self.shared = self.folder("mnt", accounts)
        self.shared.chmod(0o777)
        for script in (ROOT / "charts/groundup-lib/files/identity.py", Path(__file__).parent / "visitor.py"):
            shutil.copy(script, self.shared)
        (self.shared / "accounts.sql").write_text("".join(self._accounts()))
        edge = {end.name: end for end in self.plan.edge.endpoints}
        apis = {name: {"service": one.service, "type": one.type, "url": one.url} for name, one in edge.items()}
        told = {"admin": self.admin(), "identity": self._identity(), "endpoints": apis, "values": {}}
        told["ovn"] = {"tenant_mtu": self.plan.ovn.tenant_mtu}
        if "neutron" in services:
            told["values"] = {path: self.value("neutron", path) for path in neutron_plugins.OPTIONS}
        (self.shared / "site.json").write_text(json.dumps(told))
        names = {urls for name in ("keystone", *services) for urls in self._cluster_names(name)}
        self.hosts = place / "hosts"
        self.hosts.write_text("127.0.0.1 localhost " + " ".join(sorted(names)) + "\n")

    def admin(self) -> dict[str, str]:
        """Return the administrator's account."""
        release = next(one for one in self.plan.openstack.releases if one.name == "keystone")
        return dict(plain(release.values["endpoints"]["identity"]["auth"]["admin"]))

    def value(self, release: str, path: str) -> Any:
        """Return a value of a release at a dotted path."""
        return at(next(one for one in self.plan.openstack.releases if one.name == release).values, path)

    def _identity(self) -> str:
        return f"http://keystone-api.openstack.svc.{self.plan.kubernetes.dns_domain}:5000/v3"

    def render(self, name: str) -> list[dict[str, Any]]:
        """Return what the built-in chart makes of a release."""
        release = next(one for one in self.plan.openstack.releases if one.name == name)
        done = subprocess.run(
            [supply.tool("helm"), "template", name, ROOT / f"charts/{name}", "--namespace=openstack", "--values=-"],
            input=yaml.safe_dump(plain(release.values)), capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [item for item in yaml.safe_load_all(done.stdout) if item]

    def file(self, service: str, name: str) -> str:
        """Return a file of a service's Secret of configuration."""
        (secret,) = [
            item for item in self.objects[service]
            if item["kind"] == "Secret" and item["metadata"]["name"] == f"{service}-etc"
        ]  # fmt: skip
        return base64.b64decode(secret["data"][name]).decode()

    def etc(self, service: str, *names: str) -> Path:
        """Return the directory that is ``/etc/<service>``."""
        wanted = (*names, f"{service}.conf", "logging.conf", "policy.yaml")
        return self.folder(f"etc-{service}", {name: self.file(service, Path(name).name) for name in wanted})

    def folder(self, name: str, files: Mapping[str, str] | None = None, *, uid: int = USER) -> Path:
        """Make a directory with ``files``."""
        place = self.place / name
        place.mkdir(mode=0o755, exist_ok=True)
        for path, text in (files or {}).items():
            (place / path).parent.mkdir(exist_ok=True, parents=True)
            (place / path).write_text(text)
        os.chown(place, uid, uid)
        return place

    def _endpoints(self, name: str) -> dict[str, Any]:
        release = next(one for one in self.plan.openstack.releases if one.name == name)
        return dict(plain(merge(chart_values(name), release.values)["endpoints"]))

    def _accounts(self) -> Iterable[str]:
        script = (ROOT / "charts/groundup-lib/files/db-init.py").read_text()
        (made,) = re.findall(r"CREATE DATABASE IF NOT EXISTS \{.*?\}(.*?)\"", script)
        for name in ("keystone", *self.services):
            database = self._endpoints(name)["oslo_db"]
            user, schema = database["auth"][name], database["path"].strip("/")
            yield f"CREATE DATABASE {schema}{made};\n"
            yield f"GRANT ALL ON {schema}.* TO '{user['username']}'@'%' IDENTIFIED BY '{user['password']}';\n"

    def _cluster_names(self, name: str) -> Iterable[str]:
        for one in self._endpoints(name).values():
            for host in one.get("hosts", {}).values() if isinstance(one, dict) else ():
                yield f"{host}.openstack.svc.{self.plan.kubernetes.dns_domain}"
        yield f"rabbitmq-rabbitmq-0.rabbitmq.openstack.svc.{self.plan.kubernetes.dns_domain}"

    def queue(self, rabbitmq: Image) -> Part:
        """Return the message queue with an account for each service."""
        found = {name: self._endpoints(name)["oslo_messaging"] for name in self.services}
        hosts = {queue["path"].strip("/"): queue["auth"][name] for name, queue in found.items()}
        definitions = {
            "users": [{**user, "name": user["username"], "tags": []} for user in hosts.values()],
            "vhosts": [{"name": name} for name in hosts],
            "permissions": [
                {"user": user["username"], "vhost": name, "configure": ".*", "write": ".*", "read": ".*"}
                for name, user in hosts.items()
            ],
        }
        (self.shared / "queue.json").write_text(json.dumps(definitions))
        data = self.folder("queue", {".erlang.cookie": "cookie-of-a-test"}, uid=999)
        (data / ".erlang.cookie").chmod(0o600)
        os.chown(data / ".erlang.cookie", 999, 999)
        mounts = {"/var/lib/rabbitmq": data, "/etc/rabbitmq": self.folder("etc-rabbitmq", uid=999)}
        env = {**rabbitmq.env, "HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"}
        return Part(name="rabbitmq", root=rabbitmq.root, script=_RABBITMQ, uid=999, env=env, mounts=mounts)

    def shared_parts(self, mariadb: Image, openstack: Image) -> list[Part]:
        """Return database and Keystone."""
        database = self._endpoints("keystone")["oslo_db"]["auth"]["keystone"]
        keystone = {
            "DATABASE": "mysql+pymysql://{username}:{password}@127.0.0.1/keystone".format(**database),
            "ADMIN": self.admin()["password"],
            "REGION": self.plan.openstack.region,
            "PUBLIC": next(end.url for end in self.plan.edge.endpoints if end.service == "keystone"),
            "INTERNAL": self._identity(),
        }
        data = {"/var/lib/mysql": self.folder("data", uid=999), "/run/mysqld": self.folder("run-mysqld", uid=999)}
        return [
            Part(
                name="mariadb", root=mariadb.root, script=_MARIADB, uid=999, mounts=data,
                env={**mariadb.env, "CHARACTERS": _characters()},
            ),
            Part(
                name="keystone", root=openstack.root, script=_KEYSTONE, env={**openstack.env, **keystone},
                mounts={"/etc/keystone": self.folder("etc-keystone")},
            ),
        ]  # fmt: skip

    def run(self, *parts: Part, seconds: float = 900) -> str:
        """Run all ``parts`` side by side until the last one ends; return what that one says."""
        lines = ["ip link set lo up"]
        chroot = str(shutil.which("chroot"))  # an image's PATH may be without it
        for part in parts:
            own = self.folder(f"root-{part.name}")  # parts of one image start side by side, each with its own mounts
            inside = {"/mnt": self.shared, "/etc/hosts": self.hosts, **part.mounts}
            inside["/collections/ansible_collections/groundup/cloud"] = ROOT
            lines.append(f"set -- {shlex.join([str(own), str(part.root)])}{_ENTER}")
            for path, outside in inside.items():
                target = part.root / path.lstrip("/")
                if outside.is_dir():
                    target.mkdir(parents=True, exist_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.touch()
                lines.append(shlex.join(["mount", "--bind", str(outside), f"{own}{path}"]))
            env = {"HOME": "/tmp", **part.env}  # noqa: S108 - in the image's own root
            lines.append(f'mount -o remount,bind,ro "$1"; cd {shlex.quote(str(self.place))}')
            start = ["env", "-i", *(f"{key}={value}" for key, value in env.items()), chroot]
            start += [f"--userspec={part.uid}:{part.uid}", str(own), "bash", "-euc", WAIT + part.script]
            lines.append(shlex.join(start) + ("" if part is parts[-1] else f" > {part.name}.log 2>&1 &"))
        namespaces = ["--mount", "--pid", "--net", "--uts", "--fork", "--kill-child=KILL", "--propagation=private"]
        done = subprocess.run(
            ["unshare", *namespaces, "--", "sh", "-euc", "\n".join(lines)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        return done.stdout

    def said(self, *parts: Part) -> str:
        """Return the ends of what parts wrote, for a test that failed."""
        logs = {part.name: self.place / f"{part.name}.log" for part in parts}
        return "\n".join(f"== {name}\n{file.read_text()[-3000:]}" for name, file in logs.items() if file.is_file())
