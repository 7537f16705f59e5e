"""The password of a site's secrets store: its source, and its creation for a new site."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import get_file_vault_secret

from ...module_utils._base.files import read, sync, write_file, write_new
from .names import SecretsError, password

VARIABLE = "ANSIBLE_VAULT_PASSWORD_FILE"
_OTHERS = "?"  # in the list of stores: the password is older than the list, and may open others


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordSource:
    """A file with the password, or a script that prints it."""

    path: Path
    ours: bool  # this collection may create the file; False: the operator maintains it

    def exists(self) -> bool:
        return self.path.exists()

    def read(self) -> bytes:
        """Return the password. Raises SecretsError when it cannot be read."""
        if self.ours and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
            raise SecretsError(
                "the password file can be read by other users",
                where=str(self.path),
                why="whoever reads it can open the secrets store",
                remedy=f"chmod 600 {self.path}",
            )
        try:
            secret = get_file_vault_secret(filename=str(self.path), loader=DataLoader())
            secret.load()
        except AnsibleError as error:
            # Ansible's message names the file and the failure; it never contains the password.
            raise SecretsError(
                "the password of the secrets store cannot be read",
                where=str(self.path),
                why=str(error).splitlines()[0],
                remedy=f"let {VARIABLE} name a file, or a script, that gives the password",
            ) from None
        return bytes(secret.bytes)

    @property
    def next(self) -> Path:
        """Return the path of the password that takes its place, while that is done."""
        return self.path.with_name(f"{self.path.name}.next")

    def formers(self) -> list[Path]:
        """Return the passwords it had before, which open backup sets of then."""
        return sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}.former-*"))

    def every(self) -> list[bytes]:
        """Return all passwords that may open what it has sealed, the present one first. Raises SecretsError."""
        more = [one for one in (self.next, *self.formers()) if one.is_file()]
        return [self.read(), *(replace(self, path=one).read() for one in more)]

    def stage(self) -> bytes:
        """Return the next password, made when there is none."""
        write_new(self.next, password().encode() + b"\n", mode=0o600)
        sync(self.path.parent)
        return replace(self, path=self.next).read()

    def promote(self) -> None:
        """Put the next password in the place of the present one, which is kept."""
        self.next.replace(self.path)
        sync(self.path.parent)

    def keep(self) -> None:
        """Keep a copy of the present password, before another takes its place."""
        if self.read() not in [replace(self, path=one).read() for one in self.formers()]:
            numbers = (one.name.rpartition("-")[2] for one in self.formers())  # any of them may have been removed
            number = max((int(one) for one in numbers if one.isdigit()), default=0) + 1
            write_new(self.path.with_name(f"{self.path.name}.former-{number:03}"), self.path.read_bytes(), mode=0o600)
        sync(self.path.parent)

    @property
    def stores(self) -> Path:
        """Return the path of the list of stores that it opens: state directories may be anywhere."""
        return self.path.with_name(f"{self.path.name}.stores")

    def create(self, store: Path) -> bytes:
        """Return the password of ``store``; create it first if it is missing and the file is ours."""
        if self.ours:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._opens(store, alone=write_new(self.path, password().encode() + b"\n", mode=0o600))
        return self.read()

    def opens(self, store: Path) -> None:
        """Note that it opens ``store``, which exists. Where it may only be read, nobody removes it either."""
        if self.ours and os.access(self.path.parent, os.W_OK):
            self._opens(store, alone=False)

    def _opens(self, store: Path, *, alone: bool) -> None:
        """Note that it opens ``store``; ``alone``: no other store can be older than the password."""
        known = (read(self.stores) or "").splitlines()
        if alone or not known:
            known = [] if alone else [_OTHERS]
        if str(store) not in known:
            write_file(self.stores, "".join(f"{one}\n" for one in (*known, store)).encode(), mode=0o600)

    def others(self, store: Path) -> list[str]:
        """Return the stores that need it beside ``store``: elsewhere, and those that were moved aside."""
        found = []
        for one in (read(self.stores) or f"{_OTHERS}\n").splitlines():
            if one == _OTHERS:
                found.append("one from before there was a list")
                continue
            at = Path(one)
            found += [one] if at != store and at.exists() else []
            found += map(str, sorted(at.parent.parent.glob(f"{at.parent.name}.removed-*/{at.name}")))
        return found

    def forget(self, store: Path, *, write: bool) -> bool:
        """Remove the password of a removed ``store``; return whether there was one, ours, that no other store needs.

        Without ``write`` (check mode, in which the store still exists) nothing is removed.
        Raises SecretsError while the store exists, because it could never be opened again.
        """
        if write and store.exists():
            raise SecretsError(
                "the secrets store is still there",
                where=str(store),
                why=f"without the password in {self.path} nobody can open it again",
                remedy="remove the state of the site first, when you mean to: playbook groundup.cloud.lab_destroy",
            )
        found = self.ours and self.path.exists() and not self.others(store)
        if found and write:
            self.path.unlink()
            for one in (self.stores, self.next, *self.formers()):
                one.unlink(missing_ok=True)
        return found


def password_source(site: str, environ: Mapping[str, str] = os.environ) -> PasswordSource:
    """Return the password source of ``site``: ``$ANSIBLE_VAULT_PASSWORD_FILE``, else a file in the user's config."""
    if chosen := environ.get(VARIABLE):
        return PasswordSource(path=Path(chosen).expanduser(), ours=False)
    config = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".config")
    return PasswordSource(path=Path(config) / "groundup" / f"{site}.vault-password", ours=True)
