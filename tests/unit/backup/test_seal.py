"""A sealed stream opens whole and unchanged, in its own place, or not at all."""

from __future__ import annotations

import io
import random
import tracemalloc

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.seal import (
    PIECE,
    Sealer,
    SealError,
    new_key,
    opened,
)

KEY = new_key()
HEAD = 18 + 7  # magic and random bytes


def sealed(*contents: bytes, label: str = "lab/1/etcd") -> bytes:
    out = io.BytesIO()
    sealer = Sealer(out, key=KEY, label=label)
    for one in contents:
        sealer.write(one)
    sealer.close()
    assert sealer.stored == len(out.getvalue())
    return out.getvalue()


def content(data: bytes, *, label: str = "lab/1/etcd", key: bytes = KEY) -> bytes:
    return b"".join(opened(io.BytesIO(data), key=key, label=label))


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)  # noqa: S311  # the same in every run


@pytest.mark.parametrize("size", [0, 1, PIECE - 100, PIECE, 3 * PIECE + 5])
def test_what_was_sealed_is_opened(size: int) -> None:
    data = noise(size)
    assert content(sealed(data[: size // 2], data[size // 2 :])) == data


@pytest.mark.parametrize("place", [3, 20, HEAD + 1, HEAD + 10, -3, PIECE + HEAD + 40])
def test_a_flipped_byte_anywhere_does_not_open(place: int) -> None:
    damaged = bytearray(sealed(noise(2 * PIECE)))
    damaged[place] ^= 1
    with pytest.raises(SealError):
        content(bytes(damaged))


def test_pieces_that_are_missing_exchanged_or_added_do_not_open() -> None:
    whole, size = sealed(noise(3 * PIECE)), 4 + PIECE + 16
    first, second = whole[HEAD : HEAD + size], whole[HEAD + size : HEAD + 2 * size]
    for other in (
        whole[: HEAD + 2 * size],  # cut between two pieces
        whole[:HEAD],
        whole[:-1],
        whole[:HEAD] + second + first + whole[HEAD + 2 * size :],
        whole[:HEAD] + whole[HEAD + size :],
        whole + b"x",
    ):
        with pytest.raises(SealError):
            content(other)


def test_a_part_opens_under_its_own_name_and_key_alone() -> None:
    data = sealed(b"word")
    with pytest.raises(SealError, match="another part"):
        content(data, label="lab/2/etcd")
    with pytest.raises(SealError, match="another key"):
        content(data, key=new_key())


def test_memory_does_not_grow_with_the_content() -> None:
    class Nowhere(io.RawIOBase):
        def write(self, data: object) -> int:
            return len(bytes(data))  # type: ignore[call-overload]

    tracemalloc.start()
    sealer = Sealer(Nowhere(), key=KEY, label="x")  # type: ignore[arg-type]
    piece = noise(PIECE // 4)
    for _ in range(200):  # 50 MiB
        sealer.write(piece)
    sealer.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * PIECE


def test_what_unpacks_to_much_comes_in_pieces() -> None:
    data = sealed(*[bytes(PIECE)] * 64)
    assert len(data) < PIECE
    assert max(len(one) for one in opened(io.BytesIO(data), key=KEY, label="lab/1/etcd")) <= PIECE
