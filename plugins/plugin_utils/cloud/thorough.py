"""Further steps of the smoke test: console output, console URL, live migration."""

from __future__ import annotations

import time
from typing import Any

from openstack.exceptions import HttpException

from ...module_utils._base.wait import wait_until
from . import compute_host, drain
from .connection import ERRORS, said
from .guest import Guest
from .steps import SmokeError
from .tenant import Tenant

_BOOT = "cat /proc/sys/kernel/random/boot_id"  # differs after every boot
_UNAVAILABLE = (400, 404, 501)  # Nova has no console of that kind
_REMEDY = "openstack server migration list; journalctl -u nova-compute -u libvirtd on both hypervisors"


def prove(tenant: Tenant, server: Any, host: str, guest: Guest) -> str:
    """Run the further steps with an instance on ``host``; return the host it moved to, or "". Raises SmokeError."""
    _console_output(tenant, server)
    _console_url(tenant, server)
    return _live_migration(tenant, server, host, guest)


def _console_output(tenant: Tenant, server: Any) -> None:
    with tenant.steps.step("console output", layer="compute") as step:
        lines = str(tenant.tenant.compute.get_server_console_output(server["id"])["output"] or "").split("\n")
        found = [line.strip() for line in lines if line.strip()]
        if not found:
            raise SmokeError(
                "the console is empty, although the guest runs", layer="compute", where=f"instance {tenant.name}",
                remedy="see console.log of the instance on its hypervisor; the image must write to ttyS0",
            )  # fmt: skip
        step.detail = f"{len(found)} lines, the last: {found[-1][:60]}"


def _console_url(tenant: Tenant, server: Any) -> None:
    with tenant.steps.step("console URL", layer="compute") as step:
        if not tenant.options.console:
            step.detail = "no console proxy is deployed"
            return
        try:
            url = str(tenant.tenant.compute.create_console(server["id"], "novnc")["url"])
        except HttpException as error:
            if getattr(error, "status_code", 0) not in _UNAVAILABLE:
                raise
            step.detail = f"no console proxy is deployed: {said(error)}"
            return
        shown = url.partition("?")[0]  # the rest is the token that opens the console
        try:
            answer = tenant.tenant.session.get(url, authenticated=False)
        except ERRORS as error:
            raise SmokeError(
                f"the console's URL does not answer: {said(error).replace(url, shown)}",
                layer="compute", where=shown,
                remedy="kubectl --namespace openstack logs --selector application=nova,component=novnc-proxy",
            ) from None  # fmt: skip
        step.detail = f"{shown} answers {answer.status_code}, {len(answer.content)} bytes"


def _live_migration(tenant: Tenant, server: Any, host: str, guest: Guest) -> str:
    compute, options = tenant.admin.compute, tenant.options
    with tenant.steps.step("live migration", layer="compute") as step:
        if not compute_host.look(compute, host).others:
            step.detail = f"none: no other hypervisor than {host} is up and enabled"
            return ""
        before = guest.ask(_BOOT).data
        start = time.monotonic()
        compute.live_migrate_server(server["id"], block_migration="auto")

        def now() -> Any:
            return compute.get_server(server["id"])

        def moves() -> bool:
            found = now()
            return bool(found["task_state"]) or found["status"] == "MIGRATING"

        late = wait_until(moves, timeout=options.timeout, pause=1.0)
        found, seconds = now(), time.monotonic() - start
        if late or found["status"] != "ACTIVE" or found["compute_host"] == host:
            why = f"still {found['status']} after {options.timeout:g} s" if late else drain.why(compute, found)
            raise SmokeError(
                f"the instance does not move live: {why}",
                layer="compute", where=f"instance {tenant.name} on {host}", remedy=_REMEDY,
            )  # fmt: skip
        there, arrived = str(found["compute_host"]), time.monotonic()
        said_last = [""]

        def silent() -> bool:
            answer = guest.ask(_BOOT)
            said_last[0] = answer.fault or ("" if answer.data == before else "it was started anew")
            return bool(said_last[0])

        if wait_until(silent, timeout=options.timeout, pause=0.5):
            raise SmokeError(
                f"on {there} it does not answer as before: {said_last[0]}",
                layer="network", where=f"instance {tenant.name}, {guest.address}",
                remedy=f"openstack port list --long: is its port on {there}? Then journalctl -u ovn-controller there",
            )  # fmt: skip
        silence = time.monotonic() - arrived
        step.detail = f"{host} to {there} in {seconds:.1f} s, answered {silence:.1f} s later at {guest.address}"
        return there
