"""A module `bcrypt` for ceph-mgr, by the system's libcrypt.

Debian 13's bcrypt is a PyO3 module, and those do not load in a sub-interpreter; ceph-mgr runs each of its modules in
one, and all of them import bcrypt. This one lies before it in the mgr's own path.
"""

from __future__ import annotations

from pathlib import Path

PATH = Path("/usr/share/ceph/mgr/bcrypt.py")
SOURCE = '''# Written by groundup.cloud: Debian's bcrypt does not load in ceph-mgr's sub-interpreters.
"""bcrypt by the system's libcrypt."""

import ctypes
import hmac

_library = ctypes.CDLL("libcrypt.so.1")
_library.crypt.restype = _library.crypt_gensalt.restype = ctypes.c_char_p
_library.crypt.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
_library.crypt_gensalt.argtypes = (ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int)


def gensalt(rounds=12, prefix=b"2b"):
    return _library.crypt_gensalt(b"$" + prefix + b"$", rounds, None, 0)


def hashpw(password, salt):
    found = _library.crypt(password, salt)
    if not found or found.startswith(b"*"):
        raise ValueError("Invalid salt")
    return found


def checkpw(password, hashed_password):
    return hmac.compare_digest(hashpw(password, hashed_password), hashed_password)
'''
