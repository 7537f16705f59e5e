"""A shell, or one command, for a site: its names resolve, and kubectl, helm and openstack use it.

    python -m ...plugin_utils.site_shell SITE_FILE [COMMAND [ARG...]]

/etc/hosts of the machine stays unchanged: a private mount namespace gets its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from ..module_utils._base.changes import Changes
from .cloud import access
from .errors import GroundupError
from .https import trust_file
from .kube.access import kubeconfig_path
from .plan import Plan, SiteError, load_site, make_plan
from .process import bypassing
from .site_names import entering, hosts_text
from .supply import tool
from .vault import open_store


def environment(plan: Plan) -> dict[str, str]:
    """Return the variables that direct clients to the site; OpenStack's only if the site has a Keystone.

    Writes clouds.yaml and openrc when they are missing or differ: the secrets store may be newer than the last rollout.
    """
    # Of the operator's environment, a proxy for the internet would get the requests to the site, too.
    places = [f".{plan.domain}", *sorted({*plan.host.names.values(), plan.edge.address})]
    proxies = {name: text for name, text in bypassing(os.environ, places).items() if name.lower() == "no_proxy"}
    found = {"KUBECONFIG": str(kubeconfig_path(plan.site)), **proxies}
    clouds = access.place(plan, open_store(plan.site, write=False), Changes(check=False))
    if clouds is None:
        return found
    return found | {
        "OS_CLIENT_CONFIG_FILE": str(clouds),
        "OS_CLOUD": plan.site,
        "REQUESTS_CA_BUNDLE": str(trust_file(plan)),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # stdout is the command's


def main(arguments: list[str]) -> int:
    """Exec the shell or the command. Returns an exit code only when that fails."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        plan = make_plan(load_site(Path(arguments[0])))
        variables = environment(plan)
        tools = {str(tool(name, progress=_say).parent) for name in ("helm", "kubectl")}
    except (GroundupError, SiteError) as error:
        print(error, file=sys.stderr)
        return 1
    command = arguments[1:] or [os.environ.get("SHELL", "/bin/bash")]
    with tempfile.NamedTemporaryFile("w", prefix="groundup-hosts-", delete=False, encoding="utf-8") as names:
        names.write(hosts_text(Path("/etc/hosts").read_text(encoding="utf-8"), plan.host.names, plan.site))
    Path(names.name).chmod(0o644)
    for name in [one for one in os.environ if one.startswith("OS_")]:
        del os.environ[name]  # of another cloud: clients would mix both
    os.environ.update(variables)
    os.environ["PATH"] = ":".join([*sorted(tools), os.environ["PATH"]])
    if not arguments[1:]:
        print(f"site {plan.site}: try `openstack token issue`, `kubectl get nodes`; leave with exit", file=sys.stderr)
    wrapped = entering(Path(names.name), once=True)
    return os.execvp(wrapped[0], [*wrapped, *command])  # noqa: S606  # the point of this program is to become another


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
