#!/usr/bin/env python3
"""Migrate Nova's data to the form of this image's code, once every service is of its version.

A service of an older release could not read what was migrated: until the last is new, hypervisors too, nothing happens
and the next run looks again. Safe to repeat; with nothing to do it ends after one look at each migration.
"""

from __future__ import annotations

import sys
from pathlib import Path

# What Kubernetes keeps of a pod that has ended: the check of an upgrade reads there what was done.
SAID = Path("/dev/termination-log")


def main() -> None:
    """Migrate, or say why not yet."""
    from nova import config, context, objects, servicegroup
    from nova.cmd import manage
    from nova.objects import service
    from oslo_log import log

    config.parse_args(["nova-manage"])
    log.setup(config.CONF, "nova")
    objects.register_all()
    admin, wanted, groups = context.get_admin_context(), service.SERVICE_VERSION, servicegroup.API()
    # A hypervisor that is down counts: it comes back as it was, also an evacuated one, which Nova's own minimum leaves
    # out as forced down. Records of ended pods stay, and do not.
    oldest = service.get_minimum_version_all_cells(admin, ["nova-compute"], require_all=True)
    known = objects.ServiceList.get_all(admin)
    counted = [one for one in known if one.binary == "nova-compute" or groups.service_is_up(one)]
    older = sorted(f"{one.binary} of {one.host}" for one in counted if one.version < wanted)
    if older or 0 < oldest < wanted:  # 0: there is no hypervisor yet
        named = ", ".join(older) or f"a hypervisor that is down, of version {oldest},"
        print(f"not yet: {named} is older than {wanted}", flush=True)
        SAID.write_text("not yet")
        return
    if code := manage.DbCommands().online_data_migrations():
        raise SystemExit(f"migrating data: ended with code {code}")
    SAID.write_text(str(wanted))


if __name__ == "__main__":
    sys.exit(main())
