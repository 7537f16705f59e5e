"""The password of the secrets store, where this collection made it: the file is encrypted anew.

Backup sets and streams of binary logs are not: each opens with the password of its time, which is kept beside the
present one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ....module_utils._base.consent import Reason
from ...vault.password import VARIABLE
from ..base import Foreseen, Kind


class StorePassword(Kind[bool]):
    """Rotate it. The state: whether a rotation is open."""

    name = "store-password"
    loses = "nobody can open the secrets store, or another store"

    def survey(self) -> bool:
        """Return whether a rotation is open."""
        return self.asked.store.source.ours and self.asked.store.source.next.exists()

    def reasons(self, state: bool) -> Iterable[Reason]:  # noqa: ARG002  # the password's owner decides
        """Return why not."""
        store = self.asked.store
        if not store.source.ours:
            yield Reason(text=f"{VARIABLE} gives the password: change it there, with ansible-vault rekey {store.path}")
        elif others := store.source.others(store.path):
            yield Reason(text=f"the password opens other stores, too: {', '.join(others)}")
        if (named := self.asked.plan.backups.password_file) and Path(named) != store.source.path.absolute():
            yield Reason(
                text=f"backups.password_file names another file, {named}: with the old password no unit opens "
                f"the store. Name {store.source.path} there, and run groundup.cloud.backup_timer"
            )
        if self.asked.only:
            yield Reason(text="a site has one store: leave out rotate_only")

    def foresee(self, state: bool) -> Foreseen:
        """Return the two files."""
        source = self.asked.store.source
        return Foreseen(
            lines=[f"{self.asked.store.path} is encrypted with a new password", f"{source.path} has the new password",
                   f"{source.path}.former-NUMBER keeps the old one, for backup sets and binary logs until now"],
            open=state,
        )  # fmt: skip

    def use(self, state: bool) -> None:  # noqa: ARG002  # the store reads it under its lock
        """Encrypt the store anew."""
        self.asked.store.reseal()
        self.asked.changes.add(f"{self.asked.store.path} is encrypted with a new password")

    def remains(self, state: bool) -> list[str]:
        """Return whether a rotation is open. That the store opens with the present password, it has shown."""
        return [f"{self.asked.store.source.next} is not in use yet"] if state else []

    def next_steps(self) -> str:
        """Return what an operator must do with the two."""
        path = self.asked.store.source.path
        return (
            f"Keep a copy of {path} elsewhere, apart from the sets. {path}.former-* open older sets and streams: "
            "remove them when no set and no stream of binary logs (`logs` beside the sets) from before is kept"
        )


KIND = StorePassword
