"""Logins by a provider: Keystone's Apache as the chart writes it, twice, before a database and a real provider.

The provider is Glewlwyd, of Debian. There is no edge: who asks a public name asks one Apache, then the other one.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.unit.tls import Pair, pair
from cryptography.hazmat.primitives import serialization

from .conftest import Image
from .stage import USER, Part, Stage

PROVIDER, PORT = "sso.corp.test", 4593
ISSUER = f"https://{PROVIDER}:{PORT}/api"
DATABASE = "var/lib/dbconfig-common/sqlite3/glewlwyd/glewlwyd"
PROVIDERS = ("cli", "corp", "gone")
MEMBER = {"project": "admin", "roles": ["member"]}
ETC = "/etc/keystone"

_KEYSTONE = """
cd /tmp
wait_for answers 3306
mkdir -m 700 -p /etc/keystone/fernet-keys /etc/keystone/credential-keys
{ keystone-manage db_sync; keystone-manage fernet_setup; keystone-manage credential_setup
  keystone-manage bootstrap --bootstrap-password "$ADMIN" --bootstrap-region-id "$REGION" \\
    --bootstrap-public-url "$PUBLIC" --bootstrap-internal-url "$INTERNAL"; } > log 2>&1 || { cat log; exit 1; }
# The second Apache has ports of its own; all else is the first one's.
cp -rL /etc/apache2 /tmp/second
sed -i 's/:5000/:5001/g; s/:51\\([0-9][0-9]\\)/:52\\1/g' /tmp/second/conf-enabled/wsgi-keystone.conf
mkdir -p run
( set +u; . /etc/apache2/envvars; export APACHE_RUN_DIR=/tmp/run APACHE_PID_FILE=/tmp/run/pid APACHE_LOG_DIR=/tmp/run
  apache2 -d /tmp/second -f /tmp/second/apache2.conf -DFOREGROUND ) 2>&1 | cat &
/opt/bin/apache.sh start 2>&1 | cat
"""
_PROVIDER = """
cp /mnt/provider.db /tmp/db
grep -v -e ^external_url -e secure_connection -e ^log_mode -e glewlwyd-db.conf /etc/glewlwyd/glewlwyd.conf > /tmp/conf
cat >> /tmp/conf <<end
external_url = "https://sso.corp.test:4593/"
log_mode = "console"
use_secure_connection = true
secure_connection_key_file = "/mnt/provider.key"
secure_connection_pem_file = "/mnt/provider.pem"
database = { type = "sqlite3"; path = "/tmp/db"; };
end
exec glewlwyd --config-file=/tmp/conf
"""
_VISIT = """
export PYTHONPATH=/collections GROUNDUP_STATE=/tmp/state REQUESTS_CA_BUNDLE=
python3 -W ignore /mnt/visit.py
"""


def identity(authority: str) -> dict[str, Any]:
    """Return the site's providers: two real ones, and one that nobody runs."""
    mapping = [
        {"claim": "cloud-admins", "group": "operators", "projects": [MEMBER]},
        {"claim": "über;uns", "group": "odd", "projects": [MEMBER]},
    ]
    shared = {"client_id": "cloud", "ca": authority}
    # What the provider says of an access token has the user's name, and not his groups.
    cli = {**shared, "client_id": "cloud-cli", "issuer": f"{ISSUER}/cli", "bearer": True, "user": "username"}
    return {
        "providers": {
            "corp": {"label": "Corp's", "oidc": {**shared, "issuer": f"{ISSUER}/oidc"}, "mapping": mapping},
            "cli": {"oidc": cli, "mapping": [{"group": "everyone", "projects": [MEMBER]}]},
            "gone": {"oidc": {**shared, "issuer": "https://gone.corp.test:4999"}, "mapping": mapping[:1]},
        }
    }


def keystone(stage: Stage, image: Image, authority: str) -> Part:
    """Return Keystone as in its pod."""
    stage.objects["keystone"] = stage.render("keystone")
    files = {name: stage.file("keystone", name) for name in ("keystone.conf", "logging.conf", "policy.yaml")}
    files["sso_callback_template.html"] = stage.file("keystone", "sso_callback_template.html")
    files |= {f"providers/{name}.pem": stage.file("keystone", f"providers-{name}.pem") for name in PROVIDERS}
    assert files["providers/corp.pem"].strip() == authority.strip()
    apache = {name: stage.file("keystone", name) for name in ("wsgi-keystone.conf", "security.conf")}
    mpm = stage.folder("mpm", {"mpm_event.conf": stage.file("keystone", "mpm_event.conf"), "ports.conf": ""})
    (stage.folder("run-apache2"), stage.folder("log-apache2"))
    mounts = {
        ETC: stage.folder("etc-keystone", files),
        "/etc/apache2/conf-enabled": stage.folder("conf-enabled", apache),
        "/etc/apache2/mods-available/mpm_event.conf": mpm / "mpm_event.conf",
        "/etc/apache2/ports.conf": mpm / "ports.conf",
        "/var/www/cgi-bin/keystone": stage.folder("cgi", {"wsgi.py": stage.file("keystone", "wsgi.py")}),
        "/run/apache2": stage.folder("run-apache2"),
        "/run/lock": stage.folder("lock"),
        "/var/log/apache2": stage.folder("log-apache2"),
        "/opt/bin": Path(__file__).resolve().parents[3] / "charts/groundup-lib/files",
    }
    env = {
        **image.env, "ADMIN": stage.admin()["password"], "REGION": stage.plan.openstack.region,
        "PUBLIC": "https://identity.cloud.test/v3", "INTERNAL": "http://127.0.0.1:5000/v3",
    }  # fmt: skip
    return Part(name="keystone", root=image.root, script=_KEYSTONE, mounts=mounts, env=env)


def folders(part: Part) -> dict[str, Path]:
    """Return the mounts of ``part`` that are directories, with the files beside them."""
    return {inside: outside for inside, outside in part.mounts.items() if outside.is_dir()}


def names(stage: Stage) -> None:
    """Let all names of the site, and the provider's, be this namespace."""
    database = f"mariadb.openstack.svc.{stage.plan.kubernetes.dns_domain}"
    stage.hosts.write_text(f"127.0.0.1 localhost {database} {PROVIDER}\n")


def provider(stage: Stage, root: Path, server: Pair) -> Part:
    """Return Glewlwyd with users that have groups."""
    shutil.copy(root / DATABASE, stage.shared / "provider.db")
    with sqlite3.connect(stage.shared / "provider.db") as database:
        ((text,),) = database.execute("SELECT gumi_parameters FROM g_user_module_instance")
        parameters = json.loads(text)
        parameters["data-format"]["groups"] = {"multiple": True, "read": True, "write": True}
        parameters["data-format"]["preferred_username"] = {"multiple": False, "read": True, "write": True}
        database.execute("UPDATE g_user_module_instance SET gumi_parameters = ?", (json.dumps(parameters),))
    public = serialization.load_pem_private_key(server.key.encode(), None).public_key()
    text = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    for name, one in (("provider.pem", server.certificate), ("provider.key", server.key), ("provider.pub", text)):
        (stage.shared / name).write_text(one)
    return Part(name="provider", root=root, script=_PROVIDER, uid=0, env={"PATH": os.environ["PATH"]})


@pytest.fixture(scope="module")
def seen(image: Callable[[str], Image], root: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a visitor saw (logins/visit.py)."""
    signing = pair(names=["corp"])
    authority = signing.certificate
    place = tmp_path_factory.mktemp("logins")
    stage = Stage(place, absent=("horizon",), site={"identity": identity(authority)})
    openstack = image("openstack")
    parts = [
        stage.shared_parts(image("mariadb"), openstack)[0],
        keystone(stage, openstack, authority),
        provider(stage, root("root-provider"), pair(names=[PROVIDER], signed_by=signing)),
    ]
    names(stage)
    (stage.shared / "ca.pem").write_text(authority)
    shutil.copy(Path(__file__).parent / "logins/visit.py", stage.shared)
    providers = [asdict(one) for one in stage.plan.identity.providers]
    told = {"providers": providers, "admin": stage.admin(), "site": stage.plan.site}
    (stage.shared / "told.json").write_text(json.dumps(told))
    visitor = Part(name="visitor", root=openstack.root, script=_VISIT, env=openstack.env)
    said = stage.run(*parts, visitor)
    try:
        return json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        pytest.fail(f"{said[-6000:]}\n{stage.said(*parts)}")


def test_the_images_apache_takes_the_configuration_and_the_dashboards_settings_are_python(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    authority = pair(names=["corp"]).certificate
    stage = Stage(tmp_path, absent=("horizon",), site={"identity": identity(authority)})
    part = keystone(stage, image("openstack"), authority)
    script = "set +u; . /etc/apache2/envvars; exec apache2 -t"
    done = image("openstack").run("bash", "-c", script, uid=USER, mounts=folders(part))
    assert done.returncode == 0, done.stdout
    stage.objects["horizon"] = stage.render("horizon")
    text = stage.file("horizon", "local_settings")
    compile(text, "local_settings.py", "exec")
    assert '"Log in with Corp\'s"' in text or "Corp\\u0027s" in text


@pytest.mark.long
def test_a_login_at_the_provider_ends_with_a_token_and_the_roles_of_the_groups(seen: Any) -> None:
    assert seen["login"]["origin"] == "https://dashboard.cloud.test/auth/websso/"
    assert seen["login"]["user"] == ["Jürgen", "corp"]
    assert (seen["login"]["groups"], seen["login"]["projects"], seen["login"]["roles"]) == (
        ["operators"], ["admin"], ["member"],
    )  # fmt: skip
    assert seen["login"]["cookies"] == {
        "login_corp": ["/v3/auth/OS-FEDERATION/identity_providers/corp/protocols/openid/", True]
    }
    assert seen["odd"]["groups"] == ["odd"]
    assert seen["odd"]["id"] != seen["login"]["id"]
    assert seen["password"]


@pytest.mark.long
def test_whom_no_entry_fits_and_what_no_provider_confirmed_is_refused(seen: Any) -> None:
    for who in ("without groups", "separator", "none", "strange page"):
        assert seen[who] == {"status": 401, "where": "keystone"}, who
    assert seen["swapped"] == {"corp": 200, "cli": 302}, "a session is of one provider"
    assert seen["gone"] == {"status": 500, "where": "start"}
    # A browser may be sent to the provider; nobody is given a token.
    assert set(seen["forged"].values()) <= {302, 401, 404}
    assert (seen["forged"]["openid"], seen["forged"]["external"]) == (401, 401)


@pytest.mark.long
def test_access_tokens_of_this_client_are_logins_and_no_others(seen: Any) -> None:
    assert (seen["bearer"]["status"], seen["bearer"]["user"], seen["bearer"]["groups"]) == (
        201, ["joe", "cli"], ["everyone"],
    )  # fmt: skip
    assert seen["others"] == seen["no token"] == {"status": 401}
    assert "member" in seen["command line"]


@pytest.mark.long
def test_objects_are_made_once_and_go_with_the_field(seen: Any) -> None:
    assert "create protocol openid of corp" in seen["first"][0]
    assert seen["again"] == [[], []]
    assert "delete provider corp" in seen["removed"][0]
    assert "domain corp is no longer in the site file, and stays, with its users" in seen["removed"][1][0]
    assert seen["after"] == {"status": 404, "where": "keystone"}
    assert set(seen["broken"]) == {"gone"}
