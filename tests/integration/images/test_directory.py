"""Domains of Keystone that are a directory: real slapd, Keystone and database, with TLS, as the chart configures it."""

from __future__ import annotations

import configparser
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.tls import pair

from .conftest import Image
from .stage import ROOT, Part, Stage

NAME, WORD = "ldap.corp.test", "word-of-the-bind-account"
_API = "keystone-api.openstack.svc.cluster.local"
BASE, BIND = "dc=corp,dc=test", "cn=keystone,dc=corp,dc=test"
_CONF = f"""
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile /mnt/slapd.crt
TLSCertificateKeyFile /mnt/slapd.key
pidfile /tmp/slapd.pid
database mdb
suffix "{BASE}"
directory /tmp/db
rootdn "cn=root,{BASE}"
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{BIND}" read by * auth
"""
_ENTRIES = f"""
dn: {BASE}
objectClass: domain
dc: corp

dn: {BIND}
objectClass: person
cn: keystone
sn: keystone
userPassword: {WORD}

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups
"""
_SLAPD = """
mkdir /tmp/db
slapadd -q -f /mnt/slapd.conf -l /mnt/entries.ldif
slapd -f /mnt/slapd.conf -d 0 -h "ldap://127.0.0.1:3389 ldaps://127.0.0.1:6636" &
until test -e /mnt/stop; do sleep 0.5; done  # who asks says when, and ends all of it
kill $!; wait $! || true
rm /mnt/stop
"""
_ASK = """
wait_for test -e /mnt/identity.done
wait_for answers 6636
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
PYTHONPATH=/collections python3 -W ignore /mnt/directory.py /mnt/given.json
"""
OPS = {"group": "staff", "project": "ops", "role": "member"}


def _people(**words: str) -> str:
    return "".join(
        f"\ndn: uid={name},ou=people,{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
        f"mail: {name}@corp.test\nuserPassword: {word}\n"
        for name, word in words.items()
    )


def _group(name: str, *members: str) -> str:
    listed = "".join(f"member: uid={one},ou=people,{BASE}\n" for one in members)
    return f"\ndn: cn={name},ou=groups,{BASE}\nobjectClass: groupOfNames\ncn: {name}\n{listed}"


def _twins() -> str:
    """Return a group, and another one of its name in a part of the tree that somebody else keeps."""
    below = f"\ndn: ou=sub,ou=groups,{BASE}\nobjectClass: organizationalUnit\nou: sub\n"
    return _group("twin", "ada") + below + _group("twin", "bob").replace("cn=twin,", "cn=twin,ou=sub,")


def _ldap(ca: str, **changes: Any) -> dict[str, Any]:
    common = {"ca": ca, "bind_dn": BIND, "users": {"tree": f"ou=people,{BASE}", "filter": "(mail=*)"},
              "groups": {"tree": f"ou=groups,{BASE}"}}  # fmt: skip
    return {"url": f"ldaps://{NAME}:6636", **common, **changes}


def _configure(stage: Stage) -> None:
    """Write what the chart says of domains beside the settings that a stage's Keystone has."""
    rendered = configparser.RawConfigParser()
    rendered.read_string(stage.file("keystone", "keystone.conf"))
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in rendered[section].items())
        for section in ("api", "identity", "cache", "security_compliance")
    )
    trusted = stage.file("keystone", "tls.ca")
    stage.folder("etc-keystone", {"keystone.conf.d/domains.conf": text, "ldap/tls.ca": trusted})


def _taken_back(found: dict[str, Any], given: list[str], told: str) -> None:
    assert found["less"]["changes"] == [one.replace("give", "take back", 1) for one in given], told
    assert "domain second is no longer in the site file" in found["less again"]["warnings"][0], told
    assert found["less again"]["changes"] == [], told
    assert "2 groups are called twin" in found["twice"]["error"], told
    assert found["hidden"]["changes"] == found["less"]["changes"], told
    assert found["hidden"]["stays"] == [found["hidden"]["by hand"]], told
    assert found["anew"]["changes"] == found["more"]["changes"] == given, told
    assert found["none, foreseen"]["changes"] == found["none"]["changes"] == found["less"]["changes"], told
    assert [one.split(":")[0] for one in found["none"]["warnings"]] == [
        f"domain {name} is no longer in the site file, and stays, its users log in as before"
        for name in ("corp", "second")
    ], told


def test_users_of_a_directory_log_in_with_the_roles_of_their_groups_and_each_fault_is_told_apart(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    slapd, mariadb, keystone = image("test-directory"), image("mariadb"), image("openstack")
    authority, stranger = pair(), pair()
    server = pair(names=[NAME], signed_by=authority)
    domains = {
        "corp": _ldap(authority.certificate, roles=[OPS, {"group": "staff", "domain": "corp", "role": "reader"}]),
        "second": _ldap(authority.certificate, url=f"ldap://{NAME}:3389", start_tls=True),
    }
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    data["openstack"]["services"] = ["keystone"]
    data["identity"] = {"domains": {name: {"ldap": one} for name, one in domains.items()}}
    stage = Stage(tmp_path)
    stage.plan = with_values(make_plan(build_site(data)))
    stage.objects["keystone"] = stage.render("keystone")
    planned = {name: asdict(one) for name, one in stage.plan.identity.domains.items()}
    made = json.loads(stage.file("keystone", "domains.json").replace("secretkeystoneldapcorp", WORD).replace(
        "secretkeystoneldapsecond", WORD))  # fmt: skip
    _configure(stage)
    options = made["corp"]["ldap"]
    broken = {
        "name": {"url": "ldaps://nobody.corp.test:6636"},
        "connection": {"url": f"ldaps://{NAME}:6637"},
        "tls": {"tls_cacertfile": "/mnt/stranger.crt"},
        "tls name": {"url": "ldaps://other.corp.test:6636"},
        "bind": {"password": "wrong"},
        "users-tree": {"user_tree_dn": f"ou=nowhere,{BASE}"},
        "groups-tree": {"group_tree_dn": f"ou=nowhere,{BASE}"},
        "users": {"user_filter": "(mail=nobody@corp.test)"},
    }
    files = {
        "domains.json": json.dumps(made),
        "given.json": json.dumps({
            "plan": planned, "domains": made,
            "less": {"corp": {**planned["corp"], "roles": []}},
            "twin": {"group": "twin", "project": "ops", "domain": "Default", "role": "member"},
            "broken": {name: {"identity": {"driver": "ldap"}, "ldap": {**options, **change}}
                       for name, change in broken.items()},
        }),
        # A stage's Keystone is ready when it has been given the accounts of services, of which there are none.
        "no.identity.json": json.dumps({"region": "RegionOne", "roles": [], "users": [], "services": []}),
        "slapd.conf": _CONF,
        "entries.ldif": _ENTRIES + _people(ada="adas-word", bob="bobs-word") + _group("staff", "ada") + _twins(),
        "slapd.crt": server.certificate, "slapd.key": server.key, "stranger.crt": stranger.certificate,
    }  # fmt: skip
    for name, text in files.items():
        (stage.shared / name).write_text(text)
    for script in (ROOT / "charts/keystone/files/domains.py", ROOT / "charts/keystone/files/directories.py",
                   Path(__file__).parent / "directory.py"):  # fmt: skip
        shutil.copy(script, stage.shared)
    stage.hosts.write_text(stage.hosts.read_text() + f"127.0.0.1 {NAME} other.corp.test {_API}\n")
    parts = stage.shared_parts(mariadb, keystone)
    parts.append(Part(name="slapd", root=slapd.root, script=_SLAPD, env=slapd.env))
    parts.append(Part(name="ask", root=keystone.root, script=_ASK, env=parts[1].env, mounts=parts[1].mounts))
    said = stage.run(*parts)
    assert "SchemaValidationError" not in (tmp_path / "keystone.log").read_text()
    last = said.strip().splitlines()[-1]
    assert last.startswith("{"), said + stage.said(*parts)
    found = json.loads(last)
    told = json.dumps(found, indent=1)
    given = [f"give role {what} to group staff of corp" for what in (
        "member on project ops of domain Default", "reader on domain corp")]  # fmt: skip
    assert found["before"] == {"changes": ["create project ops of domain Default", *given], "warnings": []}, told
    assert "domain own has 1 users of its own, such as theirs" in found["own"], told
    assert found["verified"] == {}, told
    logins = {name: (found[name]["status"], found[name]["roles"]) for name in (
        "unscoped", "too early", "ada", "bob", "wrong", "nobody", "by start_tls", "after")}  # fmt: skip
    assert logins == {
        "unscoped": (201, []), "too early": (401, []), "ada": (201, ["member", "reader"]), "bob": (401, []),
        "wrong": (401, []), "nobody": (401, []), "by start_tls": (201, []), "after": (201, ["reader"]),
    }, told  # fmt: skip
    assert found["predicted"] == found["first"] == found["before"], told
    assert found["again"] == {"changes": [], "warnings": []}, told
    _taken_back(found, given, told)
    assert {name: one["fault"] for name, one in found["faults"].items()} == {
        name: name.partition(" ")[0] for name in broken
    }, told
    assert WORD not in told
    assert all("remedy:" in one for one in found["remedies"].values()), told
    assert found["down"]["login"]["status"] == 500, told
    assert "its server ldaps://ldap.corp.test:6636 is not reached" in found["down"]["verify"]["corp"], told
    assert "Keystone answers 500" in found["by Keystone alone"]["corp"], told
    assert found["admin"] == 201, "the cloud's own accounts log in while the directory is down"
