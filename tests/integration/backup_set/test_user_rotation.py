"""Keystone itself: a second user of a service takes the first one's place; its administrator gets a new password."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.keystone import Keystone
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.keystone import Users, accepts
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.keystone import scoped_request
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, connected, container
from .test_mariadb import _owned

_PORT = 5000
_SERVICE = {"domain": "service"}
_WORDS = "admins-words"
_START = f"""
cd /tmp
printf '[database]\\nconnection = sqlite:////tmp/db\\n[fernet_tokens]\\nkey_repository = /tmp/keys\\n%s' \\
  '[cache]
backend = dogpile.cache.null
' > /etc/keystone/keystone.conf
mkdir -m 700 keys
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
keystone-manage db_sync > log 2>&1 || {{ cat log; exit 1; }}
keystone-manage fernet_setup > log 2>&1 || {{ cat log; exit 1; }}
keystone-manage bootstrap --bootstrap-password {_WORDS} --bootstrap-region-id one > log 2>&1 || {{ cat log; exit 1; }}
setsid uwsgi --http-socket 127.0.0.1:{_PORT} --need-app --master --buffer-size 65535 --add-header "Connection: close" \\
  --module keystone.wsgi.api:application </dev/null > uwsgi.log 2>&1 &
for _ in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/{_PORT}) 2> /dev/null && exit 0; sleep 0.2; done
cat uwsgi.log; exit 1
"""


@pytest.fixture(scope="module")
def cloud(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespaces]:
    place, found = tmp_path_factory.mktemp("keystone"), image("openstack")
    with container(found, "pod keystone-api-0", {"/etc/keystone": _owned(place / "etc")}) as made:
        done = made.run(["env", f"PATH={found.env['PATH']}", "HOME=/tmp", "bash", "-euc", _START])
        assert done.code == 0, done.stdout + done.stderr
        yield made


def _keystone(cloud: Namespaces, token: str = "") -> Keystone:
    def send(method: str, path: str, body: Any) -> Answer:
        client = http.client.HTTPConnection("127.0.0.1")
        headers = {"Content-Type": "application/json", **({"X-Auth-Token": token} if token else {})}
        with connected(cloud, _PORT) as client.sock:
            client.request(method, f"/v3{path}", None if body is None else json.dumps(body), headers)
            answer = client.getresponse()
            text = answer.read()
        said = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(status=answer.status, headers=said, body=json.loads(text) if text else None, data=text)

    return Keystone(send)


def _login(cloud: Namespaces, user: str, password: str, **project: str) -> Answer:
    domain = "Default" if user == "admin" else "service"
    asked = scoped_request({
        "username": user, "password": password, "user_domain_name": domain, "project_domain_name": domain,
        "project_name": "admin", **project,
    })  # fmt: skip
    return _keystone(cloud).send("POST", "/auth/tokens", asked)


def _admin(cloud: Namespaces, password: str = _WORDS) -> Keystone:
    return _keystone(cloud, _login(cloud, "admin", password).headers["x-subject-token"])


@pytest.fixture(scope="module")
def admin(cloud: Namespaces) -> Keystone:
    """Return Keystone with the user nova, as its chart's job makes it."""
    admin = _admin(cloud)
    domain = admin.call("POST", "/domains", {"domain": {"name": "service"}})["domain"]["id"]
    project = admin.call("POST", "/projects", {"project": {"name": "service", "domain_id": domain}})["project"]["id"]
    options = {"lock_password": True, "ignore_lockout_failure_attempts": True}
    user = {"name": "nova", "domain_id": domain, "password": "before", "options": options}
    made = admin.call("POST", "/users", {"user": user})["user"]["id"]
    for name in ("service", "wide"):
        role = admin.call("POST", "/roles", {"role": {"name": f"{name}-role"}})["role"]["id"]
        admin.call("PUT", f"/projects/{project}/users/{made}/roles/{role}")
    return admin


def test_both_users_work_and_then_the_first_is_refused(cloud: Namespaces, admin: Keystone) -> None:
    users, nobody = Users(admin), _keystone(cloud)
    old = _login(cloud, "nova", "before", project_name="service")
    assert accepts(nobody, "nova", "before", **_SERVICE)
    assert not accepts(nobody, "nova-b", "after", **_SERVICE)
    users.copy("nova", "nova-b", "after", **_SERVICE)
    new = _login(cloud, "nova-b", "after", project_name="service")
    assert sorted(one["name"] for one in new.body["token"]["roles"]) == ["service-role", "wide-role"]
    assert new.body["token"]["roles"] == old.body["token"]["roles"]
    (made,) = admin.all("users", name="nova-b")
    assert made["options"] == {"lock_password": True, "ignore_lockout_failure_attempts": True}
    kept = _keystone(cloud, old.headers["x-subject-token"])
    assert kept.send("GET", "/auth/projects", None).status == 200, "a token of before lives on"
    users.delete("nova", **_SERVICE)
    users.delete("nova", **_SERVICE)
    assert kept.send("GET", "/auth/projects", None).status in (401, 404)
    assert not accepts(nobody, "nova", "before", **_SERVICE)
    assert accepts(nobody, "nova-b", "after", **_SERVICE)


def test_a_user_that_was_half_made_is_not_let_in_until_it_has_all_roles(cloud: Namespaces, admin: Keystone) -> None:
    users, calls = Users(admin), list[str]()

    class KilledError(BaseException):
        pass

    def killed(method: str, path: str, body: Any) -> Answer:
        calls.append(f"{method} {path}")
        if method == "PUT" and sum(one.startswith("PUT") for one in calls) == 2:
            raise KilledError
        return admin.send(method, path, body)

    with pytest.raises(KilledError):
        Users(Keystone(killed)).copy("nova-b", "nova-c", "later", **_SERVICE)
    assert users.id_of("nova-c", **_SERVICE)
    assert not accepts(_keystone(cloud), "nova-c", "later", **_SERVICE)
    users.copy("nova-b", "nova-c", "later", **_SERVICE)
    new = _login(cloud, "nova-c", "later", project_name="service")
    assert len(new.body["token"]["roles"]) == 2


def test_an_administrator_gets_a_new_password_with_the_old_one(cloud: Namespaces) -> None:
    Users(_admin(cloud)).set_password("admin", "other-words", domain="default")
    assert not accepts(_keystone(cloud), "admin", _WORDS, domain="default")
    assert accepts(_keystone(cloud), "admin", "other-words", domain="default")
    with pytest.raises(GroundupError, match="there is no user nobody"):
        Users(_admin(cloud, "other-words")).set_password("nobody", "x", domain="default")
