"""Public ssh keys in the site file: of hosts, and of people who log in."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from pydantic import AfterValidator, Field

from .base import Text

# Kinds that Debian's sshd takes. A key of DSA is not among them, nor a certificate.
_KIND = r"(?P<kind>ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
_BLOB = r"(?P<blob>[A-Za-z0-9+/]+={0,2})"
_HOST = re.compile(f"{_KIND} {_BLOB}")
_OPTION = r'[A-Za-z0-9-]+(="([^"\\]|\\.)*")?'  # of sshd(8), AUTHORIZED_KEYS FILE FORMAT
_LINE = re.compile(rf"({_OPTION}(,{_OPTION})*[ \t]+)?{_KIND}[ \t]+{_BLOB}([ \t].*)?")


def _whole(kind: str, text: str) -> bool:
    """Return whether ``text`` is a key of ``kind`` from beginning to end: fields with their lengths, the kind first."""
    try:
        blob = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    fields = []
    while blob:
        length = int.from_bytes(blob[:4], "big")
        fields.append(blob[4 : 4 + length])
        if len(fields[-1]) < length or len(blob) < 4:
            return False
        blob = blob[4 + length :]
    return len(fields) > 1 and fields[0] == kind.encode()


def _login(value: str) -> str:
    return _checked(_LINE.fullmatch(value), value, "write the line of the .pub file, such as ssh-ed25519 AAAA... name")


def _host(value: str) -> str:
    return _checked(_HOST.fullmatch(value), value, "write its type and its text, such as ssh-ed25519 AAAA...")


def _checked(found: re.Match[str] | None, value: str, remedy: str) -> str:
    if not found:
        raise ValueError(f"not a public ssh key of a kind that sshd takes (ed25519, RSA, ECDSA): {remedy}")
    if not _whole(found["kind"], found["blob"]):
        raise ValueError("not a whole ssh key, its text is cut off or changed: copy the line again")
    return value


_EDITOR = r"^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}$"  # for editors: the function says more
_EXAMPLE = {"examples": ["ssh-ed25519 AAAA..."]}
LoginKey = Annotated[Text, AfterValidator(_login), Field(json_schema_extra=_EXAMPLE)]
HostKey = Annotated[Text, AfterValidator(_host), Field(json_schema_extra={**_EXAMPLE, "pattern": _EDITOR})]
