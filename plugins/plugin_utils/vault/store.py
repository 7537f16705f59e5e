"""The secrets store: one file per site, encrypted with Ansible Vault. Names are added; a given key goes with its use.

Reading needs no lock, because the file is replaced atomically. A run that adds a name takes the lock and reads the file
again first, so that concurrent runs get the same values. A missing store of an existing site is an error: new passwords
would lock the operator out of databases with the old ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.vault import AnsibleVaultError, VaultLib, VaultSecret

from ...module_utils._base.files import sync, write_file
from ...module_utils._base.locks import locked
from ..paths import SECRETS_IDENTITY, state_dir
from .content import parse
from .names import USER, SecretsError, check_name, generate, reference
from .password import VARIABLE, PasswordSource, password_source

FILE = "secrets.yml"
LOCK = ".secrets.lock"
# Files that are written only after the store: if they exist without it, the store was lost.
MARKERS = (SECRETS_IDENTITY, "ca.crt", "kubeconfig", "cluster.json", "ovn.json")


class Store:
    """Secrets of one site, by name. A value is never shown by accident (repr, pickle)."""

    def __init__(
        self, directory: Path, source: PasswordSource, *, write: bool, identity: str, values: dict[str, str]
    ) -> None:
        """Use ``Store.open``."""
        self._directory = directory
        self._source = source
        self._write = write
        self._identity = identity
        self._values = values

    @classmethod
    def open(cls, directory: Path, source: PasswordSource, *, write: bool = True) -> Store:
        """Read the store in ``directory``; a new store is empty, and written by the first ``ensure``.

        With ``write=False`` (check mode) nothing is written: new values are only in memory.
        Raises SecretsError when the store was lost, cannot be decrypted, or cannot be read.
        """
        store = cls(directory, source, write=write, identity=str(uuid.uuid4()), values={})
        store._read()
        return store

    @property
    def path(self) -> Path:
        return self._directory / FILE

    @property
    def source(self) -> PasswordSource:
        """Return where its password is."""
        return self._source

    @property
    def identity(self) -> str:
        """Return the store's public UUID; hosts and clusters record it, to detect another store."""
        return self._identity

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted."""
        return tuple(sorted(self._values))

    def __repr__(self) -> str:
        """Return path and number of secrets, never values."""
        return f"Store({str(self.path)!r}, {len(self._values)} secrets)"

    def __getstate__(self) -> object:
        """Refuse to be pickled: a store never leaves its process."""
        raise TypeError("a secrets store is not to be pickled")

    def get(self, name: str) -> str:
        """Return the value of ``name``. Raises SecretsError when the store does not have it."""
        try:
            return self._values[name]
        except KeyError:
            raise SecretsError(
                f"the secrets store holds no {name}",
                where=str(self.path),
                why="a name gets its value when the plan first asks for it",
                remedy="run the playbook groundup.cloud.secrets, which generates what is missing",
            ) from None

    def values(self) -> frozenset[str]:
        """Return every value, for redaction."""
        return frozenset(self._values.values())

    def items(self) -> Mapping[str, str]:
        """Return a copy of all values, by name."""
        return dict(self._values)

    def ensure(self, names: Iterable[str]) -> tuple[str, ...]:
        """Generate missing values for ``names``; return the new names, sorted. Raises SecretsError."""
        wanted = sorted({check_name(name) for name in names})
        complete = all(name in self._values for name in wanted)
        if complete and _holds(self._directory / SECRETS_IDENTITY, self._public()):
            return ()
        if not self._write:
            return self._generate(wanted)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._directory / LOCK):
            self._read()  # another run may have been faster
            new = self._generate(wanted)
            if new:
                self._save()
            # Only after the store: this file without the store means that the store was lost.
            write_file(self._directory / SECRETS_IDENTITY, self._public(), mode=0o644)
        return new

    def take(self, given: Mapping[str, str], *, replacing: Collection[str] = ()) -> tuple[str, ...]:
        """Add values, replacing existing ones of ``replacing`` only; return the new names. Raises SecretsError."""
        if wrong := sorted(name for name, value in given.items() if not isinstance(value, str) or not value.strip()):
            raise SecretsError(
                f"{', '.join(wrong)} is no text",
                where="the variable secrets_given",
                why="a key or password is kept as it is used: a number would lose zeros at its start",
                remedy="write it in quotes",
            )
        # Ansible's texts are tagged objects, which YAML cannot write.
        wanted = {str(check_name(name)): str(value).strip() for name, value in given.items()}
        if not self._write or all(self._values.get(name) == value for name, value in wanted.items()):
            return self._add(wanted, replacing)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._directory / LOCK):
            self._read()  # another run may have been faster
            new = self._add(wanted, replacing)
            if new:
                self._save()
            write_file(self._directory / SECRETS_IDENTITY, self._public(), mode=0o644)
        return new

    def _add(self, wanted: Mapping[str, str], replacing: Collection[str]) -> tuple[str, ...]:
        other = sorted(name for name, value in wanted.items() if self._values.get(name, value) != value)
        if refused := [name for name in other if name not in replacing]:
            raise SecretsError(
                f"the secrets store has another value for {', '.join(refused)}",
                where=str(self.path),
                why="what runs by the value it has would be cut off",
                remedy="leave it out; if whoever made it has changed it: secrets_replace: [name] beside secrets_given",
            )
        new = sorted({*set(wanted) - set(self._values), *other})
        self._values |= wanted
        return tuple(new)

    def forget(self, names: Collection[str]) -> tuple[str, ...]:
        """Remove given values that nothing uses any longer; return the names that were there. Raises SecretsError."""

        def remove(values: dict[str, str]) -> tuple[str, ...]:
            there = tuple(sorted(set(names) & set(values)))
            for name in there:
                del values[name]
            return there

        return self.edit(remove) if set(names) & set(self._values) else ()

    def edit(self, change: Callable[[dict[str, str]], tuple[str, ...]]) -> tuple[str, ...]:
        """Let ``change`` alter the values, in one write of the file; return the names that it returns: changed ones.

        Without ``write`` only in memory. Raises SecretsError.
        """
        if not self._write:
            return change(self._values)
        with locked(self._directory / LOCK):
            self._read()  # another run may have been faster
            if changed := change(self._values):
                self._save()
        return changed

    def reseal(self) -> None:
        """Encrypt the file with the next password, which then is the present one. Repeated after a kill, it goes on."""
        with locked(self._directory / LOCK):
            self._read()
            new = self._source.stage()
            self._source.keep()
            self._save(new)
            self._source.promote()

    def lacking(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``names`` that the store lacks, sorted."""
        return tuple(sorted(set(names) - set(self._values)))

    def resolve(self, values: Any) -> Any:
        """Return ``values`` with every ``{"$secret": name}`` replaced by its value. Raises SecretsError.

        The username beside a password is the one that a rotation has given the account, if any has.
        """
        return self._resolve(values, "")

    def seal(self, data: bytes) -> bytes:
        """Return ``data`` encrypted with the store's password, for ``ansible-vault decrypt``."""
        return bytes(self._vault(self._source.read()).encrypt(data))

    def unseal(self, data: bytes, *, where: str, passwords: Collection[bytes] = ()) -> bytes:
        """Return what `seal` encrypted with any password it had, or one of ``passwords``. Raises SecretsError."""
        try:
            return bytes(self._vault(*(passwords or self._source.every())).decrypt(data))
        except AnsibleVaultError:
            raise SecretsError(
                "it does not open",
                where=where,
                why=f"the password from {self._source.path} is not the right one, or the file is damaged",
                remedy=f"let {VARIABLE} name the password that it was made with",
            ) from None

    def _resolve(self, value: Any, path: str) -> Any:
        if (name := reference(value, path)) is not None:
            return self.get(name)
        if isinstance(value, Mapping):
            match value:
                case {"username": str(), "password": {"$secret": str(name)}} if name + USER in self._values:
                    value = {**value, "username": self._values[name + USER]}
            return {key: self._resolve(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._resolve(item, f"{path}[{index}]") for index, item in enumerate(value)]
        return value

    def _generate(self, wanted: Iterable[str]) -> tuple[str, ...]:
        new = {name: generate(name) for name in wanted if name not in self._values}
        self._values |= new
        return tuple(new)

    def _read(self) -> None:
        try:
            encrypted = self.path.read_bytes()
        except FileNotFoundError:
            self._refuse_if_lost()
            return
        if not self._source.exists():
            raise SecretsError(
                "the password of the secrets store is missing",
                where=str(self._source.path),
                why=f"{self.path} cannot be opened without it",
                remedy=f"put the password back there, or let {VARIABLE} name the file that holds it",
            )
        try:
            text = self._vault(*self._source.every()).decrypt(encrypted)
        except AnsibleVaultError:
            # Not chained: the original error contains the encrypted text.
            raise SecretsError(
                "the secrets store does not open",
                where=str(self.path),
                why=f"the password from {self._source.path} is not the right one, or the file is damaged",
                remedy="use the password this site was made with, or restore the store from your backup",
            ) from None
        self._identity, self._values = parse(text, self.path)
        if self._write:
            self._source.opens(self.path)

    def _refuse_if_lost(self) -> None:
        left = [marker for marker in MARKERS if (self._directory / marker).exists()]
        if left:
            raise SecretsError(
                "the secrets store is missing, but the site exists",
                where=str(self.path),
                why=f"{', '.join(left)} beside it: the site was deployed, new passwords would not fit its databases",
                remedy=f"restore {FILE} from your backup (groundup.cloud.restore, part state of a set); if the "
                f"site is really gone, remove {self._directory}",
            )

    def _public(self) -> bytes:
        return f"{self._identity}\n".encode()

    def _save(self, password: bytes | None = None) -> None:
        password = password or self._source.create(self.path)
        text = yaml.safe_dump({"version": 1, "identity": self._identity, "secrets": self._values}, sort_keys=True)
        write_file(self.path, self._vault(password).encrypt(text), mode=0o600)
        # A power loss takes a renamed file back until its directory is on disk; hosts may know the passwords by then.
        for directory in (*([self._source.path.parent] if self._source.ours else ()), self._directory):
            sync(directory)

    @staticmethod
    def _vault(*passwords: bytes) -> VaultLib:
        return VaultLib([("default", VaultSecret(one)) for one in passwords])


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def open_store(site: str, *, write: bool = True) -> Store:
    """Open the store of ``site`` in its state directory, with the operator's password source."""
    return Store.open(state_dir(site), password_source(site), write=write)


def open_lost(site: str) -> Store:
    """Return the store of ``site``; where it was lost an empty one, which opens what its password has sealed."""
    directory, source = state_dir(site), password_source(site)
    if (directory / FILE).exists():
        return Store.open(directory, source, write=False)
    return Store(directory, source, write=False, identity="", values={})
