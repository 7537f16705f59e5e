"""Send file artifacts to a host over Ansible's own connection; the host needs only Python and tar."""

from __future__ import annotations

import os
import shlex
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...paths import cache_dir
from ...progress import reminder
from ..cache.served import LAID_OUT

# Archives are sent to the login account's home; root rights are used only to unpack. The directory is always the same,
# so that the next run removes the remains of a killed one.
_EMPTY = "cd && rm -rf .groundup-publish"
_ROOM = f"{_EMPTY} && mkdir -m 0700 .groundup-publish && cd .groundup-publish && pwd -P"


class Sender(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Base class of actions that send files."""

    variables: dict[str, Any]  # of the task

    def send(self, places: list[Path], root: str) -> None:
        """Send directories of `served` to ``root`` on the host; the marker file of each is unpacked last."""
        room = self._as_account(_ROOM if places else _EMPTY)
        for place in places:
            what = f"[publish] {name_of(place)}"
            self._display.display(what)
            remote = self._connection._shell.join_path(room, f"{place.parent.name}-{place.name}.tar")
            # A file without a name: the kernel removes it when this run dies.
            with tempfile.TemporaryFile(dir=cache_dir()) as archive, reminder(self._display.display, what):
                with tarfile.open(fileobj=archive, mode="w") as tar:
                    inside = sorted(place.rglob("*"), key=lambda path: (path.name == LAID_OUT, path))
                    for path in (place.parent, place, *inside):
                        name = str(path.relative_to(place.parent.parent))
                        tar.add(path, arcname=name, recursive=False, filter=_for_all)
                archive.flush()
                self._transfer_file(f"/proc/{os.getpid()}/fd/{archive.fileno()}", remote)
            done = self.command(["tar", "--extract", "--no-same-owner", "--file", remote, "--directory", root])
            self._as_account(f"rm -f -- {shlex.quote(remote)}")
            if done.get("failed"):
                raise failed(done)
        if places:
            self._as_account(_EMPTY)

    def _as_account(self, line: str) -> str:
        """Run a shell line on the host as the login account, and return the last line of its output."""
        done = self._low_level_execute_command(line, sudoable=False)
        if done["rc"]:
            raise AnsibleActionFail(f"{line}: {done['stderr'].strip() or done['stdout'].strip()}", result=done)
        return "".join(done["stdout"].splitlines()[-1:])

    def command(self, argv: list[str], **more: Any) -> dict[str, Any]:
        """Run a program on the host as root; return its result."""
        done: dict[str, Any] = self._execute_module(
            module_name="ansible.builtin.command", module_args={"argv": argv, **more}, task_vars=self.variables
        )
        return {"argv": argv, **done}


def _for_all(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make it readable for the web server, independent of the umask of controller and host."""
    member.mode |= 0o755 if member.isdir() else 0o644
    return member


def failed(done: dict[str, Any]) -> AnsibleActionFail:
    """Return the error of a program that `Sender.command` ran."""
    return AnsibleActionFail(f"{' '.join(done['argv'])}: {done.get('stderr') or done.get('msg')}", result=done)


def name_of(place: Path) -> str:
    """Return ``<artifact>/<version>`` of a served directory."""
    return "/".join(place.parts[-2:])
