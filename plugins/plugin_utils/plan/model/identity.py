"""Who logs in to the cloud, beside accounts of its own, in the site file."""

from __future__ import annotations

from pydantic import Field

from .base import DomainName, Model, Name
from .ldap import Ldap
from .oidc import IdentityProvider


class IdentityDomain(Model):
    """A domain of Keystone whose users and groups somebody else keeps."""

    ldap: Ldap = Field(description="The directory of its users and groups, which Keystone reads and never writes.")


class Identity(Model):
    """Users of the cloud that are not Keystone's own."""

    domains: dict[DomainName, IdentityDomain] = Field(
        default_factory=dict, description="Domains of Keystone by name, each made by the rollout. Default: none."
    )
    providers: dict[Name, IdentityProvider] = Field(
        default_factory=dict, description="Providers of logins by name, each a button of the dashboard. Default: none."
    )
