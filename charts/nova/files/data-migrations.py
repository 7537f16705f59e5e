#!/usr/bin/env python3
"""Migrate Nova's data to the form of this image's code, once every service is of its version.

A service of an older release could not read what was migrated: until the last is new, hypervisors too, nothing happens
and the next run looks again. Safe to repeat; with nothing to do it ends after one look at each migration.
"""

from __future__ import annotations

import sys

BINARIES = ("nova-compute", "nova-conductor", "nova-scheduler")


def main() -> None:
    """Migrate, or say why not yet."""
    from nova import config, context, objects
    from nova.cmd import manage
    from nova.objects import service
    from oslo_log import log

    config.parse_args(["nova-manage"])
    log.setup(config.CONF, "nova")
    objects.register_all()
    at = {name: service.get_minimum_version_all_cells(context.get_admin_context(), [name]) for name in BINARIES}
    # 0: there is none, as of hypervisors in a new cloud.
    behind = [f"{name} {version}" for name, version in at.items() if 0 < version < service.SERVICE_VERSION]
    if behind:
        print(f"not yet: {', '.join(behind)} is older than {service.SERVICE_VERSION}", flush=True)
        return
    if code := manage.DbCommands().online_data_migrations():
        raise SystemExit(f"migrating data: ended with code {code}")


if __name__ == "__main__":
    sys.exit(main())
