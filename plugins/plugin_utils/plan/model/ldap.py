"""A directory (LDAP) of users and groups in the site file."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .base import Model, Text
from .networks import listed
from .platform import Certificate

_MASKS = re.compile(r"\\[0-9A-Fa-f]{2}")
_ITEM = re.compile(r"[A-Za-z0-9.;:-]+(~=|>=|<=|:=|=)[^()]*")
_PAIR = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*|[0-9]+(\.[0-9]+)*)\s*=\s*(\\.|[^,=+\\\"])+\s*")


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError("has no TCP port there: write one from 1 to 65535") from None
    if parts.scheme not in ("ldap", "ldaps"):
        raise ValueError(f"its scheme is {parts.scheme or 'missing'}: write ldaps://ldap.example.org")
    if "@" in parts.netloc:
        raise ValueError("names a user: write who binds as bind_dn, and the address alone here")
    if not parts.hostname or port == 0 or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("is more or less than scheme, host and port: write ldaps://ldap.example.org:636")
    return value.rstrip("/")


def _filter(value: str) -> str:
    """Return ``value`` if it is a filter by RFC 4515. Raises ValueError."""
    rest = _one(_MASKS.sub("", value), value)
    if rest:
        raise ValueError(f"goes on after its last parenthesis with {rest[:20]!r}: join conditions as (&(...)(...))")
    return value


def _one(text: str, whole: str) -> str:
    """Return what follows the first filter in ``text``."""
    if not text.startswith("("):
        raise ValueError(f"begins without a parenthesis: write (&(...)(...)), or ({whole.strip('() ')})")
    text = text[1:]
    if text[:1] in ("&", "|", "!"):
        kind, text, parts = text[0], text[1:], 0
        while text.startswith("("):
            text, parts = _one(text, whole), parts + 1
        if not parts or (kind == "!" and parts > 1):
            raise ValueError(f"has {parts} conditions after {kind}: write each in parentheses, one after !")
    elif item := _ITEM.match(text):
        text = text[item.end() :]
    else:
        raise ValueError(f"has no condition at {text[:20]!r}: write attribute=value in parentheses")
    if not text.startswith(")"):
        raise ValueError("has more opening parentheses than closing ones: close each")
    return text[1:]


def _dn(value: str) -> str:
    if not all(_PAIR.fullmatch(pair) for part in re.split(r"(?<!\\),", value) for pair in re.split(r"(?<!\\)\+", part)):
        raise ValueError("is no distinguished name: write pairs joined by commas, such as ou=people,dc=example,dc=org")
    return value


LdapUrl = Annotated[
    str,
    Field(max_length=261, pattern=r"^[!-~]+$", json_schema_extra={"examples": ["ldaps://ldap.example.org"]}),
    AfterValidator(_url),
]
_Urls = Annotated[list[LdapUrl], Field(min_length=1, max_length=8)]
Dn = Annotated[Text, Field(max_length=1024), AfterValidator(_dn)]
Filter = Annotated[Text, AfterValidator(_filter), Field(json_schema_extra={"examples": ["(memberOf=cn=cloud,dc=org)"]})]
Attribute = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]
SecretName = Annotated[str, Field(max_length=200, pattern=r"^[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)+$")]


class LdapEntries(Model):
    """Entries of a kind in a directory."""

    tree: Dn = Field(description="Base DN; entries below it are found at any depth.")
    filter: Filter | None = Field(None, description="Filter (RFC 4515) that entries must fit. Default: all.")


class LdapUsers(LdapEntries):
    """Users of a directory: where they are, and their attributes."""

    object_class: Attribute = Field("inetOrgPerson", description="Object class of a user; user with Active Directory.")
    id: Attribute = Field("uid", description="Attribute that names a user for ever; Keystone's id is made from it.")
    name: Attribute = Field("uid", description="Attribute users log in with; sAMAccountName with Active Directory.")
    mail: Attribute = Field("mail", description="Attribute with the mail address.")
    enabled: Attribute | None = Field(
        None, description="Attribute that says whether an account is enabled. Default: all are."
    )
    disabled_bit: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None,
        description="Bit of `enabled` that disables an account: 2 of userAccountControl with Active Directory. "
        "Default: the attribute is true or false.",
    )

    @model_validator(mode="after")
    def _bit_of_an_attribute(self) -> LdapUsers:
        if self.disabled_bit and not self.enabled:
            raise ValueError("disabled_bit is a bit of no attribute: write enabled, too")
        return self


class LdapGroups(LdapEntries):
    """Groups of a directory: where they are, and their attributes."""

    object_class: Attribute = Field("groupOfNames", description="Object class of a group.")
    id: Attribute = Field("cn", description="Attribute that names a group for ever.")
    name: Attribute = Field("cn", description="Attribute that `roles` and people call it by.")
    member: Attribute = Field("member", description="Attribute that lists the members.")
    members_are_ids: bool = Field(
        False, description="Whether members are users' ids (memberUid of posixGroup) instead of DNs."
    )


class GroupRole(Model):
    """A role for the members of a group, on a project or on a domain."""

    group: Text = Field(description="Name of the group in the directory.")
    role: Text = Field(description="Role of Keystone: reader, member, manager, admin or one of your own.")
    project: Text | None = Field(None, description="Project, made if it is missing.")
    project_domain: Text = Field("Default", description="Domain of `project`.")
    domain: Text | None = Field(None, description="Instead of a project: a domain.")

    @model_validator(mode="after")
    def _one_place(self) -> GroupRole:
        if bool(self.project) == bool(self.domain):
            raise ValueError("a role is given on one project or on one domain: write either project or domain")
        return self


class Ldap(Model):
    """A directory that Keystone reads."""

    url: Annotated[_Urls, BeforeValidator(listed, json_schema_input_type=LdapUrl | _Urls)] = Field(
        description="URL of its server, ldaps:// or ldap:// with start_tls, or a list of those to try in turn."
    )
    start_tls: bool = Field(False, description="Whether a connection by ldap:// turns to TLS before anything is sent.")
    ca: Certificate | None = Field(
        None,
        description="Certificates (PEM) of the CAs its servers' certificates are of. Default: hosts.trusted_cas; "
        "without those, Debian's public CAs.",
    )
    cleartext: bool = Field(
        False, description="Accept that passwords of the bind account and of users cross the network in clear."
    )
    bind_dn: Dn | None = Field(None, description="Account that Keystone searches with. Default: anonymous.")
    bind_secret: SecretName | None = Field(
        None,
        description="Name of its password in the secrets store, where it is given, never generated. "
        "Default: keystone/ldap-<domain>.",
    )
    users: LdapUsers = Field(description="Its users.")
    groups: LdapGroups | None = Field(None, description="Its groups. Default: none are read.")
    roles: list[GroupRole] = Field(
        default_factory=list, description="Roles of groups' members. What others gave is left alone. Default: none."
    )
