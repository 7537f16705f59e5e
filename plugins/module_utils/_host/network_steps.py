"""Converge a host's network, and roll back a change that cuts the controller off."""

from __future__ import annotations

from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt
from .._base.wait import wait_until
from . import network, network_links, networkd, ownership
from .network_links import Links
from .units import Unit

PATIENCE = 20.0  # seconds: bonds find their partners, bridges begin to forward


def apply(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Start the change, if there is one, and return the module's result. Raises GroundupError."""
    ownership.refuse_other(wanted["site"])
    network_links.other_owner()
    if not changes.check and network.under_way(timeout=wanted["seconds"] + 30.0):
        raise GroundupError(
            "an earlier change of the network is neither confirmed nor taken back",
            where=str(network.STATE),
            why="two changes at once have no former network",
            remedy=f"systemctl status {network.TIMER}.timer there; {network.PROGRAM} back, then run this again",
        )
    if why := network.taken_back():
        changes.warnings.append(f"the last change of this host's network was taken back: {why}")
    links = Links.read()
    network_links.missing_ports(wanted["links"], links)
    texts = networkd.files(wanted["links"], dns=wanted["dns_servers"])
    now = network.present()
    differs = network.foretell(changes, texts, now)
    if differs:
        restart = files.generate(changes, network.SETTINGS, network.SETTINGS_TEXT)
        if not changes.check:
            network.start(texts, now, seconds=wanted["seconds"], restart=restart)
    else:
        service = Unit(changes, network.SERVICE)
        service.generate(network.SETTINGS, network.SETTINGS_TEXT)
        service.refreshed()
        changes.warnings += [f"the network is not as planned: {one}" for one in differences(wanted)]
    return {**changes.result(), "pending": differs and not changes.check}


def confirm(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Confirm an applied change if the links match the plan. Raises GroundupError when it is rolled back.

    ``applied_before``: an earlier answer said that the change is applied. Without it, the connection of this call may
    be older than the change, and proves nothing.
    """
    if network.pending():
        if not (wanted["applied_before"] and network.applied()):
            return {**changes.result(), "pending": True, "applied": network.applied()}
        found = wait_until(lambda: differences(wanted), timeout=PATIENCE, pause=1.0)
        if not found and network.confirm():
            return {**changes.result(), "pending": False}
        if found:
            network.take_back(f"the links did not become as planned: {'; '.join(found)}")
    network.under_way(timeout=30.0)
    said = attempt(["journalctl", "--unit", network.SERVICE, "--boot", "--quiet", "--output=cat", "-n", "8"]).stdout
    raise GroundupError(
        f"the change of the network was taken back: {network.taken_back() or 'it was not made in time'}",
        where="systemd-networkd there: " + "; ".join(said.split("\n")[-9:]),
        why="the host keeps its former network",
        remedy="correct cabling, switch or site file, then run this again",
    )


def verify(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Verify that files and links match the plan. Raises GroundupError."""
    texts, now = networkd.files(wanted["links"], dns=wanted["dns_servers"]), network.present()
    found = [f"{network.DIRECTORY / name}" for name in sorted({*texts, *now}) if texts.get(name) != now.get(name)]
    found += wait_until(lambda: differences(wanted), timeout=PATIENCE, pause=1.0)
    if found:
        raise GroundupError(
            f"the network is not as planned: {'; '.join(found)}",
            where="systemd-networkd there",
            why=f"the last change was taken back: {why}"
            if (why := network.taken_back())
            else "somebody else changed it",
            remedy="run the playbook groundup.cloud.host, which writes it; on the host: networkctl status",
        )
    return {**changes.result(), "pending": False}


def differences(wanted: dict[str, Any]) -> list[str]:
    """Return the differences between the host's links and the plan."""
    return network_links.differences(wanted["links"], Links.read())
