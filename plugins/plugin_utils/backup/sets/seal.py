"""Seal a stream: compressed, then encrypted piece by piece with AES-256-GCM. Memory holds one piece, whatever its size.

Every piece has a number and says whether it is the last one (STREAM: Hoang, Reyhanitabar, Rogaway, Vizar, 2015), and
is bound to the name of its part: pieces that are changed, missing, exchanged or of another set do not open.

    file = MAGIC, 7 random bytes, then pieces: 4 bytes length (big-endian), nonce = random bytes + number + last (0, 1)
"""

from __future__ import annotations

import hashlib
import secrets
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"groundup-sealed-1\n"
PIECE = 1 << 20  # bytes of compressed data in a piece
_TAG, _PREFIX, _LENGTH = 16, 7, struct.Struct(">I")
_COMPRESSION = 1  # most of what it saves, at a fraction of the time


class SealError(ValueError):
    """A sealed stream is damaged, not whole, or sealed with another key."""


def new_key() -> bytes:
    """Return a key for the parts of one set."""
    return secrets.token_bytes(32)


class Sealer:
    """Writes one sealed part; `close` makes it whole. ``label`` names the part, and is needed to open it."""

    def __init__(self, out: BinaryIO, *, key: bytes, label: str) -> None:
        """Write the head of the file."""
        self._out, self._aead, self._label = out, AESGCM(key), label.encode()
        self._prefix, self._number = secrets.token_bytes(_PREFIX), 0
        self._packer, self._rest = zlib.compressobj(_COMPRESSION), bytearray()
        self._digest, self.size, self.stored = hashlib.sha256(), 0, 0  # size: of the content
        self._put(MAGIC + self._prefix)

    @property
    def sha256(self) -> str:
        """Digest of the sealed bytes."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Seal more of the content."""
        self.size += len(data)
        self._rest += self._packer.compress(data)
        while len(self._rest) > PIECE:  # the last piece, which may be whole, is kept for `close`
            self._piece(bytes(self._rest[:PIECE]), last=False)
            del self._rest[:PIECE]

    def close(self) -> None:
        """Seal what is left, and the end."""
        self._rest += self._packer.flush()
        while len(self._rest) > PIECE:
            self._piece(bytes(self._rest[:PIECE]), last=False)
            del self._rest[:PIECE]
        self._piece(bytes(self._rest), last=True)

    def _piece(self, data: bytes, *, last: bool) -> None:
        sealed = self._aead.encrypt(_nonce(self._prefix, self._number, last=last), data, self._label)
        self._number += 1
        self._put(_LENGTH.pack(len(sealed)) + sealed)

    def _put(self, data: bytes) -> None:
        self._out.write(data)
        self._digest.update(data)
        self.stored += len(data)


def opened(source: BinaryIO, *, key: bytes, label: str) -> Iterator[bytes]:
    """Yield the content of a sealed part. Raises SealError: then what was yielded before is not to be used."""
    if source.read(len(MAGIC)) != MAGIC:
        raise SealError("it is no sealed part")
    prefix, aead, unpacker, last = source.read(_PREFIX), AESGCM(key), zlib.decompressobj(), False
    number = 0
    while not last:
        head = source.read(_LENGTH.size)
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        sealed = source.read(length) if _TAG <= length <= PIECE + _TAG else b""
        if not sealed or len(sealed) != length:
            raise SealError(f"it ends, or is damaged, at piece {number}")
        data, last = _open(aead, prefix, number, sealed, label.encode())
        number += 1
        while data:  # pieces of the content, not all that a piece may unpack to
            if content := unpacker.decompress(data, PIECE):
                yield content
            data = unpacker.unconsumed_tail
    if content := unpacker.flush():
        yield content
    if source.read(1):
        raise SealError("something follows its last piece")
    if not unpacker.eof:
        raise SealError("its content is not whole")


def _open(aead: AESGCM, prefix: bytes, number: int, sealed: bytes, label: bytes) -> tuple[bytes, bool]:
    for last in (False, True):
        try:
            return aead.decrypt(_nonce(prefix, number, last=last), sealed, label), last
        except (InvalidTag, ValueError):
            continue
    raise SealError(f"piece {number} does not open: damaged, of another part, or another key")


def _nonce(prefix: bytes, number: int, *, last: bool) -> bytes:
    return prefix + struct.pack(">IB", number, last)
