"""The dashboard of the built-in chart, on a read-only root, before a real Keystone: seen as its verifier sees it.

Databases are files here, and there is no edge; all else is as the chart writes it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.contract.conftest import plain

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
DOMAIN = "edge.test"
_USER = 42424
_FILES = """
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "/tmp/horizon.db"}}
OPENSTACK_KEYSTONE_URL = "http://127.0.0.1:5000/v3"
"""
_START = """
echo 80 > /proc/sys/net/ipv4/ip_unprivileged_port_start
exec setpriv --reuid 42424 --regid 42424 --clear-groups bash -euc '
cd /tmp
mkdir -m 700 keys
printf "[database]\\nconnection = sqlite:////tmp/keystone.db\\n[fernet_tokens]\\nkey_repository = /tmp/keys\\n" \\
  > /etc/keystone/keystone.conf
{ keystone-manage db_sync; keystone-manage fernet_setup
  keystone-manage bootstrap --bootstrap-password admins-words --bootstrap-region-id one \\
    --bootstrap-public-url https://identity.edge.test/v3 --bootstrap-internal-url http://127.0.0.1:5000/v3
} > log 2>&1 || cat log
uwsgi --http-socket 127.0.0.1:5000 --need-app --master --disable-logging --buffer-size 65535 \\
  --add-header "Connection: close" --module keystone.wsgi.api:application > keystone.log 2>&1 &
export DJANGO_SETTINGS_MODULE=openstack_dashboard.settings PYTHONPATH=/etc/openstack-dashboard MY_POD_IP=127.0.0.1
/opt/bin/db-sync.sh > log 2>&1 || cat log
/opt/bin/static.sh /opt/bin/apache.sh start 2>&1 | cat > apache.log &
PYTHONPATH=/collections python3 /mnt/visit.py || tail -n 50 apache.log keystone.log
'
"""


def settings() -> dict[str, str]:
    """Return the files of the Secret that the built-in chart writes for an example site."""
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    data["domain"] = DOMAIN
    data["openstack"]["services"].append("horizon")
    plan = with_values(make_plan(build_site(data)))
    values = next(release.values for release in plan.openstack.releases if release.name == "horizon")
    done = subprocess.run(
        [supply.tool("helm"), "template", "horizon", ROOT / "charts/horizon", "--values", "-"],
        input=json.dumps(plain(values)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    made = (item for item in yaml.safe_load_all(done.stdout) if item)
    secret = next(item for item in made if item["metadata"]["name"] == "horizon-etc")
    return {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}


@pytest.fixture(scope="module")
def seen(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a visitor in the pod's own network saw (visit.py)."""
    place = tmp_path_factory.mktemp("dashboard")
    place.chmod(0o755)
    files = settings()
    contents = {
        "/etc/openstack-dashboard": {
            "local/local_settings.py": files["local_settings"] + _FILES,
            "local/__init__.py": "",
        },
        "/etc/apache2/sites-enabled": {"000-default.conf": files["horizon.conf"]},
    }
    folders = {
        "/opt/bin": (ROOT / "charts/horizon/files", ROOT / "charts/groundup-lib/files"),
        "/var/www/cgi-bin/horizon": (ROOT / "charts/horizon/files",),
        "/mnt": (ROOT / "tests/integration/images/dashboard",),
    }
    scratch = ("/var/www/html/horizon", "/run/apache2", "/run/lock", "/var/log/apache2", "/etc/keystone")
    mounts = {"/collections/ansible_collections/groundup/cloud": ROOT}
    for inside in (*contents, *folders, *scratch):
        outside = mounts[inside] = place / inside.strip("/").replace("/", "-")
        outside.mkdir(mode=0o755)
        for name, text in contents.get(inside, {}).items():
            (outside / name).parent.mkdir(exist_ok=True)
            (outside / name).write_text(text)
        for folder in folders.get(inside, ()):
            shutil.copytree(folder, outside, dirs_exist_ok=True)
        if inside in scratch:
            os.chown(outside, _USER, _USER)
    said = image("openstack").run("bash", "-euc", _START, uid=0, mounts=mounts).stdout
    try:
        return json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        pytest.fail(said)


def test_the_login_page_comes_with_its_styles_and_scripts(seen: Any) -> None:
    assert seen["page"]["status"] == 200
    kinds = {kind.partition(";")[0] for _, kind in seen["files"].values()}
    assert {status for status, _ in seen["files"].values()} == {200}
    assert kinds == {"text/css", "text/javascript"}


def test_cookies_are_for_https_and_pages_for_no_other_sites_frame(seen: Any) -> None:
    assert all("secure" in cookie.lower() for cookie in seen["page"]["cookies"])
    headers = seen["page"]["headers"]
    assert f"frame-src 'self' https://console.{DOMAIN};" in headers["content-security-policy"]
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


def test_a_login_shows_the_own_project_and_ends_with_the_logout(seen: Any) -> None:
    assert seen["right password"] == {"login": True, "page": True, "logout": True}


def test_a_wrong_password_shows_nothing(seen: Any) -> None:
    assert seen["wrong password"] == {"login": False, "page": False, "logout": True}


def test_a_form_without_its_token_and_a_name_that_is_not_the_dashboards_are_refused(seen: Any) -> None:
    assert "csrf_failure=" in seen["forged"]
    assert seen["other name"] == 400
