"""Action of module groundup.cloud.secrets: runs on the controller; secrets leave it only for hosts that use them."""

from __future__ import annotations

from typing import Any, ClassVar

from ..plugin_utils import site_certificate, site_identity, site_secrets
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.contact import ssh_key
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(DocumentedAction):
    """Create a site's ssh key, secrets and certificates, take the operator's own pair, or remove all of it."""

    RULES: ClassVar[dict[str, Any]] = {"required_if": [("step", "certificate", ("key_file",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        write, plan = not self.changes.check, make_plan(load_site(given["site_file"]))
        if given["step"] == "remove":
            return site_secrets.remove(plan, write=write, keep=given["keep"], force=given["force"])
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        if given["step"] == "certificate":
            chosen = {name: given[name] for name in ("certificate_file", "key_file")}
            return site_certificate.hand_over(self.changes, given["site_file"], **chosen)
        if given["step"] == "ssh_key":
            result = ssh_key.converge(self.changes, plan)
        else:
            result = site_secrets.create(plan, given["given"], write=write, replace=given["replace"])
        if write:
            site_identity.adopt(plan)
        return result
