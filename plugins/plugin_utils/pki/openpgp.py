"""The OpenPGP key of a site, which signs the package lists that the seed serves.

The key is generated once, into the secrets store; hosts get its public part (``packages.pub`` of the state directory).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._base.files import read, write_file
from ..vault import Store
from ..vault.names import PACKAGES_KEY
from .authority import PkiError

if TYPE_CHECKING:
    import pysequoia

FILE = "packages.pub"
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----"


def ensure_packages_key(store: Store, directory: Path, *, write: bool = True) -> str:
    """Write the public part of the site's key to ``directory``; return why it was written, empty if it existed.

    ``write=False`` is a dry run; the store must be opened without write too. Raises PkiError, SecretsError, OSError.
    """
    path, public = directory / FILE, str(_key(store).extract_certificate())
    if (current := read(path)) == public:
        return ""
    if current is not None and _fingerprint(current) != _fingerprint(public):
        raise PkiError(
            "the key that signs the site's packages is not the one in the secrets store",
            where=str(path),
            why="hosts that have the former key would refuse every package",
            remedy=f"restore the secrets store that belongs to it, or remove {path}; hosts get the other key by the "
            "playbook groundup.cloud.host",
        )
    if write:
        write_file(path, public.encode(), mode=0o644)
    return "new"


def signed_release(directory: Path, name: str, release: str) -> str | None:
    """Return the stored, signed form of ``release`` (text of a Release file); None if it must be signed again."""
    import pysequoia  # imported late: most runs sign nothing

    kept, public = read(directory / name), read(directory / FILE)
    if not kept or not public or kept.partition("\n\n")[2].partition(_SIGNATURE)[0].strip() != release.strip():
        return None
    try:
        pysequoia.verify(kept.encode(), store=lambda _: [pysequoia.Cert.from_bytes(public.encode())])
    except Exception:  # noqa: BLE001 - the library has no type of its own for a signature that does not hold
        return None
    return kept


def sign_release(store: Store, directory: Path, name: str, release: str) -> str:
    """Sign ``release`` with the site's key, store it as ``name`` in ``directory``, and return it (apt's InRelease)."""
    import pysequoia

    ensure_packages_key(store, directory)
    signer = _key(store).signer()
    signed = pysequoia.sign(signer, release.encode(), mode=pysequoia.SignatureMode.CLEAR)
    write_file(directory / name, signed, mode=0o644)
    return signed.decode()


def _key(store: Store) -> pysequoia.Tsk:
    """Return the site's key; generate it if missing. Raises PkiError, SecretsError."""
    import pysequoia

    store.ensure([PACKAGES_KEY])
    try:
        return pysequoia.Tsk.from_bytes(store.get(PACKAGES_KEY).encode())
    except Exception:  # noqa: BLE001 - the library's own type is Exception, and its text may quote what it read
        raise PkiError(
            f"{PACKAGES_KEY} in the secrets store is not an OpenPGP private key",
            where=str(store.path),
            why="the site's package lists are signed with it",
            remedy="restore the store from your backup",
        ) from None


def _fingerprint(public: str) -> str | None:
    """Return the fingerprint of an armored certificate, None for anything else."""
    import pysequoia

    try:
        return str(pysequoia.Cert.from_bytes(public.encode()).fingerprint)
    except Exception:  # noqa: BLE001 - the library's own type is Exception
        return None
