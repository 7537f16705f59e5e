"""Write the administrator's clouds.yaml and openrc into the site's state directory."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from ...module_utils._base import files
from ...module_utils._base.changes import Changes
from ..https import trust_file
from ..paths import state_dir
from ..plan.types import Plan
from ..services import keystone
from ..vault import Store

CLOUDS, OPENRC = "clouds.yaml", "openrc"
_MODE = 0o600  # both hold the password
_HEADER = files.HEADER + "# The site's names must resolve where it is used: see make lab-shell.\n"


def place(plan: Plan, store: Store, changes: Changes) -> Path | None:
    """Write both files where they differ; return the path of clouds.yaml, None for a site without its own Keystone.

    The password comes from the secrets store; none is generated here. Raises StoreError when it is missing.
    """
    identity = next((one for one in plan.edge.endpoints if one.service == keystone.SERVICE.name), None)
    if identity is None:
        return None
    directory = state_dir(plan.site)
    auth = {"auth_url": identity.url, "password": store.get(keystone.ADMIN_CREDENTIAL), **keystone.ADMIN}
    more = {"region_name": plan.openstack.region, "identity_api_version": "3", "interface": "public"}
    if not plan.edge.public_root:  # which every client trusts
        more["cacert"] = str(trust_file(plan))
    cloud = yaml.safe_dump({"clouds": {plan.site: {"auth": auth, **more}}}, sort_keys=False)
    exports = "".join(f"export OS_{key.upper()}={shlex.quote(value)}\n" for key, value in {**auth, **more}.items())
    # With OS_CLOUD set as well, clients mix settings of both.
    others = "" if "cacert" in more else " OS_CACERT"
    rc = f"unset OS_CLOUD OS_CLIENT_CONFIG_FILE{others}\n{exports}"
    for name, text in ((CLOUDS, cloud), (OPENRC, rc)):
        files.place(changes, directory / name, _HEADER + text, mode=_MODE, secret=True)
    return directory / CLOUDS
