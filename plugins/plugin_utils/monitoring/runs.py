"""The runs of a site's last days: a record on the control node, and the same beside the page of the monitoring host."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleError
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader
from ansible.template import Templar

from ...module_utils._base.files import read, write_file
from ...module_utils._base.locks import locked
from ...module_utils._base.run import attempt
from ...module_utils._host.ownership import FILE as OWNER
from ...module_utils._monitoring.central import HOME, RUNS
from .. import site_identity
from ..errors import GroundupError
from ..lifetime import identity, lives
from ..paths import state_dir
from ..run_mode import WITHIN_RUN

FILE = "runs.jsonl"  # in the state directory
_DAYS, _MOST = 14, 200
_PATIENCE = 2.0  # seconds: another run writes meanwhile
_ANSWER = 5.0  # seconds for the monitoring host
_SAME = ("by", "playbooks", "tags", "skip_tags", "limit", "check")  # what was asked, and by whom
_FIRST = ("-T", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=3",
          "-o", "LogLevel=ERROR")  # fmt: skip
# Of a host without monitoring, or of another site, nothing is written.
_TAKE = """cd {place} 2>/dev/null && read -r site _ <{owner} && [ "$site" = {site} ] || exit 0
umask 022; new=.runs.$$
cat >$new && [ $(wc -c <$new) = {size} ] && mv $new {name} || {{ rm -f $new; exit 1; }}"""

_FAULTS = (AnsibleError, GroundupError, OSError, TypeError, ValueError)  # the last two: of records that others changed

Row = dict[str, Any]


def is_whole() -> bool:
    """Return whether this run is no part of a recorded one; what it starts from now on is."""
    if os.environ.get(WITHIN_RUN):
        return False
    os.environ[WITHIN_RUN] = "1"
    return True


def begun(options: Mapping[str, Any], *, check: bool, began: float) -> Row:
    """Return the record of this run. ``options``: of its command; extra variables may be secret, and are left out."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # of a container
        account = str(os.getuid())
    words = {name: [*(options.get(name) or ())] for name in ("args", "tags", "skip_tags")}
    return {
        "process": identity(os.getpid()), "began": began, "check": check, "limit": options.get("subset") or "",
        "by": f"{os.environ.get('SUDO_USER') or account}@{socket.gethostname()}",
        "playbooks": words["args"], "tags": [one for one in words["tags"] if one != "all"],
        "skip_tags": words["skip_tags"],
    }  # fmt: skip


def keep(play: Any, row: Row, *, reached: Collection[str]) -> Iterator[str]:
    """Write ``row`` into the history of the site of ``play``; tell of one that has ended. Yield what goes wrong.

    ``reached``: names or addresses of hosts that the run has reached. A dry run writes nothing on a host.
    """
    manager = play.get_variable_manager()
    site = manager._inventory.groups["all"].get_vars().get("groundup_site")
    host = ((site or {}).get("monitoring") or {}).get("host")
    try:
        rows = record(site["site"], row) if site and _own(manager._inventory, site) else []
    except _FAULTS as error:
        yield f"the history of runs lacks this one: {error}"
        return
    if not rows or "ended" not in row or row["check"] or host not in manager._inventory.hosts:
        return
    variables = manager.get_vars(play=play, host=manager._inventory.get_host(host))
    if not {host, variables.get("ansible_host")} & {*reached}:
        return
    try:
        fault = tell(site["site"], rows, _option(Templar(loader=play.get_loader(), variables=variables), variables))
    except _FAULTS as error:
        fault = str(error)
    if fault:
        yield f"the page of the site on {host} is not told of this run: {fault}. The next run tells of both"


def _own(inventory: Any, site: Mapping[str, Any]) -> bool:
    """Return whether the state is the site's: a run that is refused as another site's writes nothing there."""
    hosts = {name: one.vars["groundup_host"] for name, one in inventory.hosts.items() if "groundup_host" in one.vars}
    return site_identity.is_own(site["site"], {"domain": site.get("domain"), "hosts": hosts})


def _option(templar: Any, variables: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return what gives the options of Ansible's ssh connection to the host of these ``variables``."""
    connection = connection_loader.get("ansible.builtin.ssh", PlayContext())
    names = constants.config.get_plugin_vars("connection", connection._load_name)  # known once it is loaded
    connection.set_options(var_options={one: templar.template(variables[one]) for one in names if one in variables})
    return connection.get_option  # type: ignore[no-any-return]  # Ansible ships no types


def record(site: str, row: Row) -> list[Row]:
    """Write ``row`` in place of the former one of its process; return all, oldest first.

    Of runs of the same that changed nothing and ended alike, the last one stays, and how many there were. Before the
    site has a state directory, nothing is written. Raises GroundupError, OSError.
    """
    home = state_dir(site)
    if not home.is_dir():
        return []
    with locked(home / f".{FILE}.lock", timeout=_PATIENCE):
        rows = [one for one in _rows(home / FILE) if one["process"] != row["process"]]
        former = next((one for one in reversed(rows) if all(one.get(key) == row[key] for key in _SAME)), None)
        if former and _alike(former, row):
            rows.remove(former)
            row |= {"times": former.get("times", 1) + 1, "since": former.get("since", former["began"])}
        rows = sorted([*rows, row], key=lambda one: float(one["began"]))
        rows = [one for one in rows if one["began"] > time.time() - _DAYS * 86400][-_MOST:]
        write_file(home / FILE, "".join(f"{json.dumps(one)}\n" for one in rows).encode(), mode=0o600)
    return rows


def _alike(former: Row, row: Row) -> bool:
    """Return whether both changed nothing and ended in the same way: what a timer starts may fail for days."""
    quiet = all("ended" in one and not one.get("changed") and not one.get("would_change") for one in (former, row))
    return quiet and all(former.get(key) == row.get(key) for key in ("stopped", "failed", "without"))


def _rows(path: Path) -> list[Row]:
    """Return the records in ``path``, without lines that are none."""
    found = []
    for line in (read(path) or "").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("began"), float) and isinstance(row.get("process"), str):
            found.append(row)
    return found


def told(rows: Iterable[Row]) -> str:
    """Return ``rows`` for the page, with what became of those that say of no end."""
    found = [{**row, "process": "", "lives": "ended" not in row and lives(row["process"])} for row in rows]
    return json.dumps({"told": time.time(), "runs": found})


def take(site: str, text: str, *, place: Path = HOME / RUNS, owner: Path = OWNER) -> str:
    """Return the command by which the monitoring host takes ``text`` from its standard input, whole or not at all."""
    return _TAKE.format(
        place=place.parent, name=place.name, owner=owner, site=shlex.quote(site), size=len(text.encode())
    )


def tell(site: str, rows: Iterable[Row], option: Callable[[str], Any]) -> str:
    """Write ``rows`` beside the page; return why not, "" when it is done. ``option``: of Ansible's ssh connection.

    Raises GroundupError when the host does not answer in time.
    """
    from ..supply.publish.tunnel import ssh_command  # late: a run that tells nothing need not load it

    text = told(rows)
    program, *ssh = ssh_command(option, transport="ssh")
    root = [] if option("remote_user") == "root" else ["sudo", "-n"]
    command = shlex.join([*root, "sh", "-c", take(site, text)])
    done = attempt([program, *_FIRST, *ssh, command], stdin=text, timeout=_ANSWER)
    return done.stderr.strip()[-300:] or f"exit code {done.returncode}" if done.returncode else ""
