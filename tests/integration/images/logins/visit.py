"""Registers at the provider, makes Keystone's objects, and logs in as a browser does. Prints what it saw, as JSON."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import openstack
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import federation, identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.keystone import Keystone
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.tests.integration.images.logins.edge import IDENTITY, SSO, browser, done, until
from keystoneauth1.identity.v3 import OidcAccessToken
from keystoneauth1.session import Session


class Role(NamedTuple):
    """A role of the plan: its own types need packages that the image has not."""

    group: str
    role: str
    project: str
    domain: str


TOLD = json.loads(Path("/mnt/told.json").read_text())
PLACE = "/v3/auth/OS-FEDERATION/identity_providers/{}/protocols/openid/websso"
TOKENS = "/v3/OS-FEDERATION/identity_providers/cli/protocols/openid/auth"
CLIENTS = {"cloud": "secretkeystoneoidccorp", "cloud-cli": "secretkeystoneoidccli", "other": "others-secret"}
ORIGIN = "https://dashboard.cloud.test/auth/websso/"


def register() -> None:
    """Make the provider's plugin, its client and its users."""
    admin = browser()
    done(until(lambda: admin.post(f"{SSO}/api/auth/", json={"username": "admin", "password": "password"})))
    claims: list[Any] = [
        {"name": name, "user-property": name, "type": "string", "mandatory": True, "on-demand": False, "scope": []}
        for name in ("groups", "preferred_username")
    ]
    parameters = {
        "jwt-type": "ecdsa", "jwt-key-size": "256", "key": Path("/mnt/provider.key").read_text(),
        "cert": Path("/mnt/provider.pub").read_text(), "code-duration": 600, "refresh-token-duration": 3600,
        "access-token-duration": 3600, "allow-non-oidc": True, "auth-type-code-enabled": True,
        "auth-type-password-enabled": True, "auth-type-refresh-enabled": True, "pkce-allowed": True, "claims": claims,
        "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
        "allowed-scope": ["openid", "profile", "email"],
    }  # fmt: skip
    for scope in ("profile", "email"):
        done(admin.post(f"{SSO}/api/scope/", json={"name": scope, "display_name": scope, "password_required": False}))
    for name in ("oidc", "cli"):
        own = {**parameters, "iss": f"{SSO}/api/{name}"}
        plugin: Any = {"module": "oidc", "name": name, "display_name": name, "enabled": True, "parameters": own}
        done(admin.post(f"{SSO}/api/mod/plugin/", json=plugin))
    redirects = [f"{IDENTITY}{PLACE.format(name).removesuffix('websso')}redirect" for name in ("corp", "cli")]
    for name, secret in CLIENTS.items():
        client: Any = {
            "client_id": name, "name": name, "confidential": True, "client_secret": secret, "enabled": True,
            "redirect_uri": redirects, "authorization_type": ["code", "password", "refresh_token"],
            "scope": ["openid", "profile", "email"], "token_endpoint_auth_method": ["client_secret_basic"],
        }  # fmt: skip
        done(admin.post(f"{SSO}/api/client/", json=client))
    for name, groups in USERS.items():
        user: Any = {
            "username": name, "password": f"{name}s-word", "name": name, "enabled": True, "groups": groups,
            "scope": ["openid", "profile", "email"], "preferred_username": NAMES.get(name, name),
        }  # fmt: skip
        done(admin.post(f"{SSO}/api/user/", json=user))


USERS = {
    "jane": ["staff", "cloud-admins"], "joe": ["staff"], "admin2": ["x;cloud-admins"], "odd": ["über;uns", "y"],
    "none": [],
}  # fmt: skip
NAMES = {"jane": "Jürgen", "joe": "admin"}


def login(user: str, *, provider: str = "corp", origin: str = ORIGIN) -> dict[str, Any]:
    """Log in as a browser does, from the dashboard's redirect to the form that it posts there."""
    session = LAST["session"] = browser()
    start = session.get(f"{IDENTITY}{PLACE.format(provider)}", params={"origin": origin}, allow_redirects=False)
    if start.status_code != 302:
        return {"status": start.status_code, "where": "start"}
    target = start.headers["location"]
    assert target.startswith(SSO), target
    asked = parse_qs(urlsplit(target).query)
    assert asked["code_challenge_method"] == ["S256"], asked
    page = session.get(target, allow_redirects=False)
    assert "login.html" in page.headers["location"], page.headers
    done(session.post(f"{SSO}/api/auth/", json={"username": user, "password": f"{user}s-word"}))
    done(session.put(f"{SSO}/api/auth/grant/cloud", json={"scope": asked["scope"][0]}))
    back = session.get(f"{target}&g_continue", allow_redirects=False)
    assert back.headers["location"].startswith(IDENTITY), back.headers
    landed = session.get(back.headers["location"], allow_redirects=False)
    if landed.status_code != 302:
        return {"status": landed.status_code, "where": "redirect", "text": landed.text[:500]}
    final = session.get(landed.headers["location"], allow_redirects=False)
    if final.status_code != 200:
        return {"status": final.status_code, "where": "keystone"}
    action, token = re.search(r'action="([^"]*)".*?name="token".*?value="([^"]*)"', final.text, re.DOTALL).groups()  # type: ignore[union-attr]
    cookies = {one.name: (one.path, one.secure) for one in session.cookies if "identity" in one.domain}
    return {"status": 200, "origin": html.unescape(action), "cookies": cookies, **holder(token)}


def swapped() -> dict[str, int]:
    """Show the cookie of the last login again, and to another provider's host as its own."""
    (cookie,) = [str(one.value) for one in LAST["session"].cookies if one.name == "login_corp"]
    return {
        name: browser().get(
            f"{IDENTITY}{PLACE.format(name)}", params={"origin": ORIGIN}, allow_redirects=False,
            headers={"Cookie": f"login_{name}={cookie}"},
        ).status_code
        for name in ("corp", "cli")
    }  # fmt: skip


def holder(token: str) -> dict[str, Any]:
    """Return who a token's holder is, and what he may do."""
    head = {"X-Auth-Token": token}
    ask = browser()
    ask.headers.update({"Accept": "application/json", **head})
    me = done(ask.get(f"{IDENTITY}/v3/auth/tokens", headers={"X-Subject-Token": token})).json()["token"]["user"]
    projects = done(ask.get(f"{IDENTITY}/v3/auth/projects")).json()["projects"]
    groups = [one["id"] for one in me["OS-FEDERATION"]["groups"]]
    found = {
        "user": [me["name"], me["domain"]["name"]], "projects": sorted(one["name"] for one in projects),
        "groups": sorted(GROUPS.get(one, one) for one in groups), "roles": [], "id": me["id"],
    }  # fmt: skip
    for project in projects:
        scope = {"project": {"id": project["id"]}}
        body: Any = {"auth": {"identity": {"methods": ["token"], "token": {"id": token}}, "scope": scope}}
        scoped = done(ask.post(f"{IDENTITY}/v3/auth/tokens", json=body)).json()["token"]
        found["roles"] += [role["name"] for role in scoped["roles"] if role["name"] != "reader"]
    return found


def cloud() -> Any:
    """Return the administrator's connection."""
    admin = TOLD["admin"]
    return openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_url="http://127.0.0.1:5000/v3", username=admin["username"],
        password=admin["password"], project_name="admin", user_domain_name="Default", project_domain_name="Default",
        identity_endpoint_override="http://127.0.0.1:5000/v3",
    )  # fmt: skip


def plan(names: tuple[str, ...]) -> Any:
    """Return as much of the plan as Keystone's objects need."""

    def read(one: dict[str, Any]) -> Any:
        return SimpleNamespace(**{**one, "roles": tuple(Role(**role) for role in one["roles"])})

    providers = [read(one) for one in TOLD["providers"] if one["name"] in names]
    return SimpleNamespace(site=TOLD["site"], identity=SimpleNamespace(domains={}, providers=providers))


def converge(*names: str) -> tuple[list[str], list[str]]:
    """Make the objects of the providers with these names."""
    changes = Changes(check=False)
    session = cloud().session

    def send(method: str, path: str, body: Any) -> Answer:
        answer = session.request(f"http://127.0.0.1:5000/v3{path}", method, json=body, raise_exc=False)
        is_json = "json" in answer.headers.get("content-type", "")
        return Answer(status=answer.status_code, headers={}, body=answer.json() if is_json else None)

    identity.converge(Keystone(send), plan(names), changes, {})
    return changes.done, changes.warnings


GROUPS: dict[str, str] = {}
LAST: dict[str, requests.Session] = {}


def forged() -> dict[str, int]:
    """Ask for a login with all that a provider's confirmation would be, as a client can send it."""
    claims = {
        "OIDC_ISSUER": f"{SSO}/api/oidc", "OIDC_CLAIM_sub": "x", "OIDC_CLAIM_groups": "cloud-admins",
        "OIDC_CLAIM_preferred_username": "x", "OIDC-ISSUER": f"{SSO}/api/oidc", "OIDC-CLAIM-sub": "x",
        "OIDC-CLAIM-groups": "cloud-admins", "OIDC-CLAIM-preferred-username": "x", "REMOTE_USER": "admin",
        "Remote-User": "admin", "X-Remote-User": "admin",
    }  # fmt: skip
    bodies: Any = {
        "auth": {"identity": {"methods": ["openid"], "openid": {"identity_provider": "corp", "protocol": "openid"}}}
    }
    external: Any = {"auth": {"identity": {"methods": ["external"], "external": {}}}}
    found = {}
    paths = [TOKENS, f"/{TOKENS}", f"{TOKENS}/", "/v3/auth/OS-FEDERATION/websso/openid"]
    paths += [TOKENS.replace("openid/auth", "openid%2Fauth"), TOKENS.replace("v3", "v3/.")]
    start = PLACE.format("corp")
    for path in (*paths, start, start.replace("v3/auth", "v3//auth")):
        answer = browser().get(f"{IDENTITY}{path}?origin={ORIGIN}", headers=claims, allow_redirects=False)
        found[path] = answer.status_code
        if answer.status_code == 302:
            assert answer.headers["location"].startswith(SSO), path
        assert "X-Subject-Token" not in answer.headers, path
        assert 'name="token"' not in answer.text, path
    for name, body in (("openid", bodies), ("external", external)):
        found[name] = browser().post(f"{IDENTITY}/v3/auth/tokens", json=body, headers=claims).status_code
    return found


def access_token(client: str) -> str:
    """Return an access token of the provider, which a client got for a user."""
    form = {"grant_type": "password", "username": "joe", "password": "joes-word", "scope": "profile"}
    answer = browser().post(f"{SSO}/api/cli/token", data=form, auth=(client, CLIENTS[client]))
    return str(done(answer).json()["access_token"])


def bearer(token: str) -> dict[str, Any]:
    """Return what Keystone says to an access token."""
    answer = browser().get(f"{IDENTITY}{TOKENS}", headers={"Authorization": f"Bearer {token}"}, allow_redirects=False)
    subject = answer.headers.get("X-Subject-Token")
    return {"status": answer.status_code, **(holder(subject) if subject else {})}


def command_line(token: str) -> list[str]:
    """Return the roles that the command line's plugin v3oidcaccesstoken gets on a project."""
    plugin = OidcAccessToken(
        auth_url=f"{IDENTITY}/v3", identity_provider="cli", protocol="openid", access_token=token, project_name="admin",
        project_domain_name="Default",
    )  # fmt: skip
    return sorted(plugin.get_access(Session(session=browser())).role_names)


def edge() -> Any:
    """Return as much of the plan as verification needs."""
    name = SimpleNamespace(service="keystone", type="identity", name=IDENTITY.removeprefix("https://"))
    page = SimpleNamespace(service="horizon", type="dashboard", name="dashboard.cloud.test")
    return SimpleNamespace(**vars(plan(("corp", "cli", "gone"))), edge=SimpleNamespace(endpoints=[name, page]))


def asked(method: str, url: str, *, headers: dict[str, str]) -> Any:
    """Return the answer to one request."""
    answer = browser().request(method, url, headers=headers, allow_redirects=False)
    return SimpleNamespace(
        status=answer.status_code, headers={name.lower(): one for name, one in answer.headers.items()}
    )


def main() -> None:
    """See everything."""
    register()
    for _ in range(2):
        until(lambda: browser().get(f"{IDENTITY}/v3"))
    first = converge("corp", "cli", "gone")
    again = converge("corp", "cli", "gone")
    for name in ("corp", "cli"):
        domain = cloud().identity.find_domain(name)
        GROUPS.update({one.id: one.name for one in cloud().identity.groups(domain_id=domain.id)})
    seen = {
        "first": first, "again": again, "login": login("jane"), "swapped": swapped(), "without groups": login("joe"),
        "separator": login("admin2"), "odd": login("odd"), "none": login("none"),
        "gone": login("jane", provider="gone"), "strange page": login("jane", origin="https://evil.test/"),
        "forged": forged(), "password": bool(cloud().auth_token),
    }  # fmt: skip
    token = access_token("cloud-cli")
    seen |= {
        "bearer": bearer(token), "others": bearer(access_token("other")), "no token": bearer("x"),
        "command line": command_line(token), "broken": federation.broken(edge(), asked),
    }  # fmt: skip
    seen["removed"] = converge("cli", "gone")
    seen["after"] = login("jane")
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
