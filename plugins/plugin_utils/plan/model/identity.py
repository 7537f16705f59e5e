"""Who logs in to the cloud, beside accounts of its own, in the site file."""

from __future__ import annotations

from pydantic import Field

from .base import Model, Name
from .oidc import IdentityProvider


class Identity(Model):
    """Users of the cloud that are not Keystone's own."""

    providers: dict[Name, IdentityProvider] = Field(
        default_factory=dict, description="Providers of logins by name, each a button of the dashboard. Default: none."
    )
