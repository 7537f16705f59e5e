"""Replacement of the module `bcrypt` for ceph-mgr, based on the system's libcrypt.

ceph-mgr runs each of its modules in a sub-interpreter, and all import bcrypt. Debian 13's bcrypt is a PyO3 module, and
these do not load there. This one comes first in the manager's module path.
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
