"""Inventory of a site: hosts, groups and variables of its plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: site
short_description: Hosts, groups and variables of a site file
version_added: 0.1.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - Reads a site file, makes its plan (see the C(groundup.cloud.plan) playbook) and hands the hosts to Ansible.
  - Nothing is contacted. The same file always gives the same inventory; MAC addresses of discovered machines are of the
    site's state directory.
  - A file that no plan can be made from ends the command with exit code 4 and one error that says what to correct and
    where. No other inventory plugin is asked about it, and no play runs without its hosts.
  - So does a second site file in the same run (C(-i) twice, or a directory), because group C(all) has the variables of
    one site.
  - "Groups: one a role of machines, one a layer that names its own (C(kubernetes): every node of the cluster),
    C(rack_<name>), C(provisioner_<name>), C(managed_network) (hosts whose links the plan has), C(network_in_turn)
    (those of them that are control hosts or monitors of Ceph), C(ceph_clients) (control hosts of a site whose Ceph
    others look after), C(absent) (hosts a dry run cannot reach) and C(refused) (all hosts of a plan with errors)."
  - "Variables: C(groundup_site_file), the path of the site file; C(groundup_site), the plan without its hosts and chart
    values; C(groundup_host), one host's part; and how to connect: C(ansible_host), C(ansible_user), C(ansible_port),
    the site's ssh key, and the keys of hosts; C(groundup_dry_run), whether this run changes nothing
    (check mode, or C(--tags check))."
notes:
  - Every key of the site file is described in the site file reference.
options:
  plugin:
    description: Tells Ansible that this file is a site file.
    type: str
    required: true
    choices: [groundup.cloud.site]
"""

EXAMPLES = r"""
# site.yml
plugin: groundup.cloud.site
site: lab
domain: lab.test
profile: lab
machines:
  seed: {count: 1, rack: r1}
  control: {count: 1, rack: r1}
  worker: {count: 2, rack: r1}

# ansible-inventory -i site.yml --graph
"""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from ansible import context
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.template import trust_as_template

from ..plugin_utils.contact.logins import SITE_ARGS, site_key
from ..plugin_utils.layers.layers import (
    ABSENT,
    CEPH_CLIENTS,
    FIRST_CONTACT,
    LAYERS,
    MANAGED_NETWORK,
    NETWORK_IN_TURN,
    REFUSED,
    groups_of,
)
from ..plugin_utils.layers.roles import ROLES
from ..plugin_utils.layers.storage import BACKENDS
from ..plugin_utils.lifetime import end_workers_with_run
from ..plugin_utils.metal.identity import identity
from ..plugin_utils.metal.journal import home_of
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import Problem, SiteError, load_site, make_plan
from ..plugin_utils.plan.output.serial import host_vars, site_vars

_PLUGIN = re.compile(rb"^(?:\xef\xbb\xbf)?plugin:\s*[\"']?([A-Za-z0-9_.]+)", re.MULTILINE)
_EXIT_CODE = 4  # what Ansible's own commands end with when they cannot parse something


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]  # ansible ships no types
    """Site file -> hosts, groups, variables."""

    NAME = "groundup.cloud.site"

    def verify_file(self, path: str) -> bool:
        """Say whether ``path`` is a site file: its ``plugin`` is one of ours, or it names none and is called site.yml.

        A misspelt plugin of ours is taken too, so that the site model can say how it is spelt.
        """
        file = Path(path)
        if file.suffix not in (".yml", ".yaml") or not super().verify_file(path):
            return False
        with file.open("rb") as stream:
            named = _PLUGIN.search(stream.read(65536))
        return named.group(1).startswith(b"groundup.") if named else file.stem == "site"

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill ``inventory`` from the site file at ``path``."""
        super().parse(inventory, loader, path, cache)
        end_workers_with_run()  # here, because every run of a site begins with its inventory
        try:
            site = load_site(path)
            plan = make_plan(site)
        except SiteError as error:
            self._refuse(error)
        other = inventory.groups["all"].get_vars().get("groundup_site_file", str(Path(path).resolve()))
        if other != str(Path(path).resolve()):
            # Variables of all are one site's: the hosts of the first would be changed into hosts of the second.
            problem = Problem(key="", reason=f"{other} is read in the same run", remedy="run one site at a time")
            self._refuse(SiteError(problem, file=path))
        errors = [finding for finding in plan.findings if finding.severity == "error"]
        if errors:
            said = "an error" if len(errors) == 1 else f"{len(errors)} errors, the first"
            self.display.warning(
                f"{path}: the plan has {said}: {errors[0].what}. All of it: ansible-playbook groundup.cloud.plan"
            )

        known: dict[str, str] = {}
        everything = inventory.groups["all"]
        state = state_dir(plan.site)
        for name, value in {
            "groundup_site_file": str(Path(path).resolve()),
            "groundup_site": site_vars(plan),
            "ansible_user": plan.access.user,
            "ansible_port": plan.access.port,
            "ansible_ssh_private_key_file": str(site_key(plan.site)),
            # A kept connection to a host that died must end by itself, not hold every later run for ever.
            "ansible_ssh_common_args": f'-o "UserKnownHostsFile={state}/ssh/known_hosts {state}/ssh/host_keys"'
            " -o StrictHostKeyChecking=yes -o ServerAliveInterval=10 -o ServerAliveCountMax=6",
            "ansible_ssh_extra_args": SITE_ARGS,
            "groundup_dry_run": "{{ ansible_check_mode or 'check' in ansible_run_tags }}",
        }.items():
            everything.set_variable(name, _trusted(value, known))
        # Groups that plays run on must exist without machines; not provisioner_container: plays ask if it is defined.
        # Metal fills ABSENT in a dry run.
        named = {layer.group for layer in LAYERS.values()} - {"all", "localhost"}
        fixed = (ABSENT, REFUSED, FIRST_CONTACT, MANAGED_NETWORK, NETWORK_IN_TURN, CEPH_CLIENTS)
        monitors = {one.name for one in plan.ceph.monitors} if plan.ceph else set()
        for group in (*ROLES, *sorted(named), "provisioner_existing", *fixed):
            inventory.add_group(group)
        for written in plan.hosts.values():
            found = identity(home_of(plan.site), written.name)  # its MAC addresses were discovered
            host = replace(written, links=found.of(written, plan.networks).links) if found else written
            place = (f"rack_{host.rack.replace('-', '_')}", f"provisioner_{host.provisioner}")
            own = groups_of(
                host.roles,
                node=bool(host.node_labels),
                services=plan.openstack.services,
                backend=plan.ceph.backend if plan.ceph else "none",
            )
            asks = bool(plan.ceph and BACKENDS[plan.ceph.backend].clients and "control" in host.roles)
            network = [MANAGED_NETWORK] * bool(host.links)
            network += [NETWORK_IN_TURN] * bool(network and ("control" in host.roles or host.name in monitors))
            for group in (*own, *place, *network, *[CEPH_CLIENTS] * asks, *[REFUSED] * bool(errors)):
                if group not in inventory.groups:
                    inventory.add_group(group)
                inventory.add_host(host.name, group)
            # Straight on the host: `inventory.set_variable` takes a group of the same name first.
            entry = inventory.hosts[host.name]
            entry.set_variable("ansible_host", _trusted(host.address, known))
            if plan.access.user != "root":
                # On hosts alone: a variable of all would also hold for tasks on the controller itself.
                entry.set_variable("ansible_become", True)
            entry.set_variable("groundup_host", _trusted(host_vars(host), known))

    def _refuse(self, error: SiteError) -> NoReturn:
        """End the command with ``error``.

        Ansible would turn an exception into a warning, try the next inventory plugins, and continue without hosts.
        A program that uses Ansible as a library gets the exception.
        """
        if not context.CLIARGS:
            # Not chained: every cause would be printed below it, and this text says it all.
            raise AnsibleParserError(str(error)) from None
        self.display.error(str(error))
        sys.exit(_EXIT_CODE)


def _trusted(value: Any, known: dict[str, str]) -> Any:
    """Return ``value`` with its strings marked as the operator's own, as those of any inventory file are.

    Marks are shared through ``known``: most strings of a large site are the same few. Without a mark Ansible would list
    a string as unsafe.
    """
    if isinstance(value, str):
        marked = known.get(value)
        if marked is None:
            marked = known[value] = trust_as_template(value)
        return marked
    if isinstance(value, dict):
        return {key: _trusted(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [_trusted(inner, known) for inner in value]
    return value
