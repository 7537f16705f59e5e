"""Run in a copy of the tree by test_toy_layer.py: prints what Ansible and the documentation make of its layers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.playbook.play import Play
from ansible.plugins.loader import init_plugin_loader
from ansible.vars.manager import VariableManager

ROOT = Path(sys.argv[1])

init_plugin_loader([str(ROOT.parents[2])])

from ansible_collections.groundup.cloud.ci.reference import tables  # noqa: E402  # once the loader knows the collection
from ansible_collections.groundup.cloud.plugins.inventory.site import InventoryModule  # noqa: E402  # once the loader knows the collection


def tags(play: Play) -> list[str]:
    """Return the tags of a play's tasks, but for those Ansible adds."""
    tasks = [task for block in play.compile() for task in block.block]
    return sorted({tag for task in tasks for tag in task.tags} - {"always"})


inventory = InventoryData()
InventoryModule().parse(inventory, DataLoader(), str(ROOT / "inventories/lab/site.yml"))
inventory.reconcile_inventory()
plays = Playbook.load(
    str(ROOT / "playbooks/site.yml"), variable_manager=VariableManager(DataLoader(), None), loader=DataLoader()
).get_plays()
host = inventory.hosts["worker-1"].get_vars()["groundup_host"]
json.dump(
    {
        "groups": {name: sorted(one.name for one in group.get_hosts()) for name, group in inventory.groups.items()},
        "host": {name: host[name] for name in ("packages", "sysctl", "kernel_modules")},
        "plays": [
            [
                play.get_name(),
                sorted({tag for block in play.compile() for task in block.block for tag in task.tags} - {"always"}),
            ]
            for play in plays
        ],
        "page": tables.page(tables.LAYERS_PAGE, ROOT),
    },
    sys.stdout,
)
