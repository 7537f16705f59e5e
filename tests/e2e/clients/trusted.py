"""A tenant's instance with a TPM, before and after a hard reboot.

Usage: trusted.py GUEST. Prints, as JSON: the version of the TPM that the guest saw, each time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import WAIT, Volumes

_BOOTED = "cat /proc/sys/kernel/random/boot_id"


class Trusted(Volumes):
    """One instance with a TPM."""

    def tried(self) -> dict[str, Any]:
        """Return what the guest saw. Nova reads the TPM's secret from Barbican again at the reboot."""
        ground = self.prepare(chooses=False)
        with self.steps.step("instance", layer="compute"):
            server = self.create(ground, name=self.name, host="")
            guest = self._guest(ground, server)
        seen, booted = [self._version(guest)], guest.ask(_BOOTED).data
        with self.steps.step("hard reboot", layer="compute"):
            self.tenant.compute.reboot_server(server["id"], "HARD")

            def same() -> str:
                said = guest.ask(_BOOTED)
                return said.fault or ("it has not rebooted" if said.data == booted else "")

            last = wait_until(same, timeout=WAIT, pause=1.0)
            assert not last, last
        return {"versions": [*seen, self._version(guest)]}

    def _flavor(self) -> Any:
        flavor = super()._flavor()
        self.admin.compute.create_flavor_extra_specs(flavor, {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-tis"})
        return flavor

    def _version(self, guest: Guest) -> str:
        said = guest.ask("cat /sys/class/tpm/tpm0/tpm_version_major", timeout=WAIT)
        assert not said.fault, said
        return said.data.decode().strip()


def main() -> None:
    """Do it all, and delete it all."""
    options = TenantOptions(image=Path(sys.argv[1]), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Trusted, openstack.connect(), options, steps, Trusted.tried)))


if __name__ == "__main__":
    main()
