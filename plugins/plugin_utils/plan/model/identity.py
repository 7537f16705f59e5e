"""Who logs in to the cloud, beside accounts of its own, in the site file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ...services.keystone_logins import LOCKOUT, PASSWORD_LENGTH, TOKEN_LIFE
from .base import DomainName, Model, Name, Text
from .ldap import Ldap
from .oidc import IdentityProvider


class IdentityDomain(Model):
    """A domain of Keystone whose users and groups somebody else keeps."""

    ldap: Ldap = Field(description="The directory of its users and groups, which Keystone reads and never writes.")


class Lockout(Model):
    """When wrong passwords lock an account of Keystone's own."""

    attempts: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        None,
        description="Wrong passwords one after another that lock an account; 0: none do. Default: "
        f"{LOCKOUT} with the built-in charts, which exempt the accounts of services, 0 with others.",
    )
    seconds: Annotated[int, Field(ge=1, le=604800)] = Field(1800, description="Seconds for which it is locked.")


class Passwords(Model):
    """Rules for passwords that people set; those of directories and providers are theirs. Old ones stay valid."""

    length: Annotated[int, Field(ge=1, le=32)] = Field(PASSWORD_LENGTH, description="Characters that one has at least.")
    regex: Text | None = Field(None, description="Regular expression (Python) that its beginning matches, beside that.")
    explanation: Text | None = Field(
        None, description="What people are told whose password does not. Wanted with regex."
    )
    history: Annotated[int, Field(ge=0, le=100)] = Field(0, description="Passwords, the new one included, that differ.")
    minimum_days: Annotated[int, Field(ge=0, le=365)] = Field(
        0, description="Days after which people may change theirs again. Administrators always may."
    )
    expire_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(
        None, description="Days for which a password that is set from now on is valid. Default: for ever."
    )
    change_first: bool = Field(False, description="Whether people change one that an administrator set.")


class Identity(Model):
    """Who logs in, and by which rules."""

    token_life: Annotated[int, Field(ge=300, le=604800)] = Field(
        TOKEN_LIFE, description="Seconds for which a token is valid, and a login of the dashboard."
    )
    lockout: Lockout = Field(default_factory=Lockout, description="When wrong passwords lock an account.")
    passwords: Passwords = Field(default_factory=Passwords, description="Rules for passwords.")
    domains: dict[DomainName, IdentityDomain] = Field(
        default_factory=dict, description="Domains of Keystone by name, each made by the rollout. Default: none."
    )
    providers: dict[Name, IdentityProvider] = Field(
        default_factory=dict, description="Providers of logins by name, each a button of the dashboard. Default: none."
    )
