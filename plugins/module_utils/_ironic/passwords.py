"""Passwords on the seed: only hashes are stored."""

from __future__ import annotations

from pathlib import Path

from .._base.errors import GroundupError
from .._base.run import attempt

# Prints an htpasswd line: the file's present one while the password is unchanged.
HASH = """
import bcrypt, sys
user, path, given = sys.argv[1], sys.argv[2], sys.stdin.buffer.read()
try:
    kept = open(path).read().strip()
except OSError:
    kept = ""
same = kept.startswith(user + ":") and bcrypt.checkpw(given, kept.split(":", 1)[1].encode())
print(kept if same else user + ":" + bcrypt.hashpw(given, bcrypt.gensalt(10, b"2b")).decode())
"""


def line_of(home: Path, user: str, path: Path, password: str) -> str:
    """Return the line for the htpasswd file ``path``, by bcrypt of the environment ``home``. Raises GroundupError."""
    argv = [str(home / "bin/python"), "-c", HASH, user, str(path)]
    done = attempt(argv, stdin=password)
    if done.returncode:
        raise GroundupError(
            f"the password cannot be hashed: {done.stderr.strip().splitlines()[-1:]}",
            where=str(home),
            why="the seed keeps a hash of it alone",
            remedy="run the playbook groundup.cloud.ironic again",
        )
    return done.stdout
