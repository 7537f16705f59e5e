"""Commands that a run tells its operator, as they can be copied."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from pathlib import Path

from ansible import context

from .errors import GroundupError

# What a playbook of this collection fails with when no site file is the inventory.
_NO_SITE = re.compile(r"'groundup_\w+' is undefined|/etc/ansible/hosts")
_PLAYBOOK = "ansible-playbook groundup.cloud."


def sites() -> list[str]:
    """Return the options of this run that name its site file, relative to the directory where it was started."""
    files, here = [Path(one) for one in context.CLIARGS.get("inventory") or ()], Path.cwd()
    return [word for one in files for word in ("-i", str(one.relative_to(here) if here in one.parents else one))]


def runnable(text: str) -> str:
    """Return ``text``, in which each command for a playbook of this collection names the site of this run."""
    return text.replace(_PLAYBOOK, f"{shlex.join(['ansible-playbook', *sites()])} groundup.cloud.")


def explained(text: str, variables: Collection[str]) -> str:
    """Return the message ``text`` of a failure as it is told, in a run whose inventory has ``variables``."""
    if "groundup_site_file" in variables or not _NO_SITE.search(text):
        return runnable(text)
    error = GroundupError(
        "no site file is named",
        where="option -i of this run",
        why="a playbook of this collection takes all that it knows of a site from its site file",
        remedy=f"ansible-playbook -i site.yml {shlex.join(_playbooks())}, with the same options",
    )
    return str(error)


def idle() -> str:
    """Return what to say of a run in which no task ran."""
    names = _playbooks()
    if names == ["groundup.cloud.preflight"]:
        return "no task ran: the plan has no error; groundup.cloud.precheck examines the machines"
    why = "roles of the site file, --limit, --tags"
    return f"no task ran: no play of {', '.join(names)} has a host and a task here ({why})"


def _playbooks() -> list[str]:
    return list(context.CLIARGS.get("args") or ())
