"""Inventory of a site: hosts, groups and variables from its plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: site
short_description: Hosts, groups and variables of a site file
version_added: 0.1.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - Reads a site file, makes its plan (see the C(groundup.cloud.plan) playbook) and adds the hosts to the inventory.
  - Nothing is contacted. The same file always gives the same inventory. MAC addresses of discovered machines come from
    the site's state directory.
  - When no plan can be made from the file, the command ends with exit code 4 and one error that says what to correct
    and where. No other inventory plugin is tried, and no play runs without its hosts.
  - Two site files in one run (C(-i) twice, or a directory) are refused in the same way, because group C(all) has the
    variables of one site.
  - "Groups: one per role, one per layer that has its own (C(kubernetes): every node of the cluster),
    C(rack_<name>), C(provisioner_<name>), C(managed_network) (hosts whose links the plan manages), C(network_in_turn)
    (the control hosts and Ceph monitors among them), C(ceph_clients) (control hosts of a site whose Ceph is managed by
    others), C(absent) (hosts a dry run cannot reach) and C(refused) (all hosts of a plan with errors)."
  - "Variables: C(groundup_site_file), the path of the site file; C(groundup_site), the plan without its hosts and chart
    values; C(groundup_host), the host's part of the plan; C(groundup_dry_run), whether this run changes nothing
    (check mode, or C(--tags check)); C(groundup_machine), the machine that a verb acts on (C(-e machine=NAME));
    C(groundup_storage_host), a storage host to ask about Ceph, another one if there is one; and for connections:
    C(ansible_host), C(ansible_user), C(ansible_port), the site's ssh key, and known host keys."
requirements:
  - On the control node, the Python packages of the collection's C(requirements.txt).
notes:
  - The site file reference describes every key of the site file.
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

from .. import plugin_utils  # noqa: F401  # first: it ends the command when this control node lacks a package

# isort: split
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
from ..plugin_utils.errors import GroundupError
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
from ..plugin_utils.metal.identity import as_found
from ..plugin_utils.metal.journal import home_of
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import Plan, Problem, SiteError, load_site
from ..plugin_utils.plan.output.serial import host_vars, site_vars
from ..plugin_utils.site_identity import other
from ..plugin_utils.upgrade.journal import live_plan

_PLUGIN = re.compile(rb"^(?:\xef\xbb\xbf)?plugin:\s*[\"']?([A-Za-z0-9_.]+)", re.MULTILINE)
# Machine that the verb acts on. Until the next release, `<verb>_machine` is its variable, too.
_MACHINE = "{{ machine | default(lookup('ansible.builtin.vars', (verb | default('')) ~ '_machine', default='')) }}"
# Storage host that is asked about Ceph: another one that is there; this machine without any. A task needs one.
_STORAGE_HOST = (
    "{{ groups.ceph | default([]) | difference([groundup_machine]) | difference(groups.absent | default([])) | sort"
    " | first | default(((groups.ceph | default([]) | intersect([groundup_machine])) + groups.ceph | default([]))"
    " | first | default('localhost')) }}"
)
_EXIT_CODE = 4  # exit code of Ansible's commands for parse errors


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]  # ansible ships no types
    """Read hosts, groups and variables from a site file."""

    NAME = "groundup.cloud.site"

    def verify_file(self, path: str) -> bool:
        """Say whether ``path`` is a site file: its ``plugin`` begins with "groundup.", or it has none and is site.yml.

        A misspelt plugin name of ours is accepted, so that the site model can report the right spelling.
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
        end_workers_with_run()  # every run of a site begins with its inventory
        try:
            site = load_site(path)
            plan = live_plan(site)
        except (SiteError, GroundupError) as error:
            self._refuse(error)
        other = inventory.groups["all"].get_vars().get("groundup_site_file", str(Path(path).resolve()))
        if other != str(Path(path).resolve()):
            # Group `all` has the variables of one site: hosts of the first would be changed into hosts of the second.
            problem = Problem(key="", reason=f"{other} is read in the same run", remedy="run one site at a time")
            self._refuse(SiteError(problem, file=path))
        errors = [finding for finding in plan.findings if finding.severity == "error"]
        if errors:
            said = "an error" if len(errors) == 1 else f"{len(errors)} errors, the first"
            self.display.warning(
                f"{path}: the plan has {said}: {errors[0].what}. All of it: ansible-playbook groundup.cloud.plan"
            )

        foreign = self._foreign(plan)
        known: dict[str, str] = {}
        everything = inventory.groups["all"]
        state, discovered = state_dir(plan.site), home_of(plan.site)
        for name, value in {
            "groundup_site_file": str(Path(path).resolve()),
            "groundup_site": site_vars(plan),
            "ansible_user": plan.access.user,
            "ansible_port": plan.access.port,
            "ansible_ssh_private_key_file": str(site_key(plan.site)),
            # A kept ssh connection to a dead host must end by itself, or it blocks every later run forever.
            "ansible_ssh_common_args": f'-o "UserKnownHostsFile={state}/ssh/known_hosts {state}/ssh/host_keys"'
            " -o StrictHostKeyChecking=yes -o ServerAliveInterval=10 -o ServerAliveCountMax=6",
            "ansible_ssh_extra_args": SITE_ARGS,
            "groundup_dry_run": "{{ ansible_check_mode or 'check' in ansible_run_tags }}",
            "groundup_machine": _MACHINE,
            "groundup_storage_host": _STORAGE_HOST,
            **({"groundup_other_site": foreign} if foreign else {}),
        }.items():
            everything.set_variable(name, _trusted(value, known))
        # Groups that plays run on must exist even without machines. Not provisioner_container: plays test whether it
        # is defined. The layer metal fills ABSENT in a dry run.
        named = {layer.group for layer in LAYERS.values()} - {"all", "localhost"}
        fixed = (ABSENT, REFUSED, FIRST_CONTACT, MANAGED_NETWORK, NETWORK_IN_TURN, CEPH_CLIENTS)
        monitors = {one.name for one in plan.ceph.monitors} if plan.ceph else set()
        for group in (*ROLES, *sorted(named), "provisioner_existing", *fixed):
            inventory.add_group(group)
        for written in plan.hosts.values():
            host = replace(written, links=as_found(discovered, written, plan.networks).links)
            place = (f"rack_{host.rack.replace('-', '_')}", f"provisioner_{host.provisioner}")
            own = groups_of(
                host.roles,
                node=bool(host.node_labels),
                services=plan.openstack.services,
                backend=plan.ceph.backend if plan.ceph else "none",
                monitoring=plan.monitoring is not None,
            )
            asks = bool(plan.ceph and BACKENDS[plan.ceph.backend].clients and "control" in host.roles)
            network = [MANAGED_NETWORK] * bool(host.links)
            network += [NETWORK_IN_TURN] * bool(network and ("control" in host.roles or host.name in monitors))
            for group in (*own, *place, *network, *[CEPH_CLIENTS] * asks, *[REFUSED] * bool(errors or foreign)):
                if group not in inventory.groups:
                    inventory.add_group(group)
                inventory.add_host(host.name, group)
            # On the host object: `inventory.set_variable` would take a group of the same name.
            entry = inventory.hosts[host.name]
            entry.set_variable("ansible_host", _trusted(host.address, known))
            if plan.access.user != "root":
                # Per host: a variable of group `all` would also hold for tasks on the control node.
                entry.set_variable("ansible_become", True)
            entry.set_variable("groundup_host", _trusted(host_vars(host), known))

    def _foreign(self, plan: Plan) -> str:
        """Return why the site's state is another site's, "" when it is not: every playbook's preflight refuses it."""
        try:
            error = other(plan)
        except GroundupError as damaged:
            error = damaged
        return str(error or "")

    def _refuse(self, error: SiteError | GroundupError) -> NoReturn:
        """End the command with ``error``.

        Ansible would turn an exception into a warning, try the next inventory plugin, and continue without hosts.
        A program that uses Ansible as a library gets the exception.
        """
        if not context.CLIARGS:
            # Not chained: Ansible would print every cause below it, and this text is complete.
            raise AnsibleParserError(str(error)) from None
        self.display.error(str(error))
        sys.exit(_EXIT_CODE)


def _trusted(value: Any, known: dict[str, str]) -> Any:
    """Return ``value`` with its strings marked as trusted templates, like strings of any inventory file.

    ``known`` shares marked strings: a large site repeats the same few. Without a mark Ansible would list a string as
    unsafe.
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
