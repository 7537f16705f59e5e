"""A provider of logins (OpenID Connect) in the site file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from .base import Domain, DomainName, Model, Plain, Text, with_port
from .platform import Certificate

# They become words in Apache's configuration: no blanks, quotes, dollar signs, backslashes or braces.
Issuer = Annotated[
    str,
    Field(
        max_length=512,
        pattern=r"^https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$",
        json_schema_extra={"examples": ["https://sso.example.org/realms/corp"]},
    ),
    AfterValidator(with_port),  # Apache, and with it Keystone, would not start
]
ClientId = Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9._~:/@-]+$")]
Scope = Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9._~:/-]+$")]
Claim = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$")]


class ProjectRoles(Model):
    """Roles on a project that exists."""

    project: Text = Field(description="Name of the project.")
    domain: Text = Field("Default", description="Domain of the project.")
    roles: Annotated[list[Text], Field(min_length=1)] = Field(description="Roles there: member, reader, ...")


class ProviderGroup(Model):
    """A group of the provider, and the group of Keystone its members are in."""

    claim: Text | None = Field(
        None, description="Value of the claim of groups, which a user must have. Default: every user of the provider."
    )
    group: Text = Field(description="Group of Keystone, in the provider's domain.")
    create: bool = Field(True, description="Whether the group is made when it is missing.")
    projects: list[ProjectRoles] = Field(
        default_factory=list, description="Roles of the group. Further ones, given in Keystone, stay."
    )


class OpenIdConnect(Model):
    """How Keystone asks a provider who somebody is, and what that gives."""

    issuer: Issuer = Field(
        description="Issuer, as the provider itself writes it. All else is found below it, at "
        "/.well-known/openid-configuration."
    )
    client_id: ClientId = Field(
        description="This cloud's id at the provider. Its secret is keystone/oidc-<name> of the secrets store, given."
    )
    scopes: list[Scope] = Field(
        default=["openid", "profile", "email"], min_length=1, description="Scopes that are asked for."
    )
    ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA of the provider's servers, trusted beside the public CAs of the "
        "image. Default: hosts.trusted_cas.",
    )
    user: Claim = Field("preferred_username", description="Claim with the user's name. His id is `sub`, always.")
    groups: Claim = Field("groups", description="Claim with the user's groups, a list.")
    hosts: list[Domain] = Field(
        default_factory=list,
        description="Further hosts, beside the issuer's, that a browser is sent to on its way to the login form.",
    )
    bearer: bool = Field(
        False,
        description="Whether access tokens of this client are logins, too: for the command line. The provider is asked "
        "about each (introspection).",
    )


class IdentityProvider(Model):
    """A provider of logins."""

    oidc: OpenIdConnect = Field(description="OpenID Connect.")
    label: Text | None = Field(
        None, max_length=60, description="What the dashboard calls it: Log in with <label>. Default: its name."
    )
    domain: DomainName | None = Field(
        None, description="Domain of its users and groups, made when missing. Default: its name."
    )
    mapping: list[ProviderGroup] = Field(
        default_factory=list, description="Who may log in, by groups. Write this or `rules`."
    )
    rules: list[Plain] = Field(
        default_factory=list,
        description="Rules of Keystone's mapping, for all else. They read claims as OIDC_CLAIM_<claim>.",
    )
