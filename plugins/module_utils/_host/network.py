"""Change a host's network in systemd-networkd, and revert the change unless it is confirmed.

A change consists of two sets of files, the new and the former one, in a separate directory, and a program that
installs either. A timer and the next boot restore the former one. Confirm and revert each rename the mark `pending`:
the first one wins.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.run import attempt, run
from .._base.wait import wait_until
from . import networkd
from .network_links import Links, addresses_of

DIRECTORY = Path("/etc/systemd/network")
SETTINGS = Path("/etc/systemd/networkd.conf.d/10-groundup.conf")
STATE = Path("/var/lib/groundup/network")
PROGRAM = Path("/usr/local/lib/groundup/network-switch")
BOOT_UNIT = Path("/etc/systemd/system/groundup-network-guard.service")
SERVICE = "systemd-networkd.service"
TIMER = "groundup-network-back"
APPLY = "groundup-network-apply"
HEAD_START = 2  # seconds: this run's result is sent over the former network
# networkd must not remove routes, rules and addresses of keepalived and of pods.
SETTINGS_TEXT = """\
[Network]
ManageForeignRoutes=no
ManageForeignRoutingPolicyRules=no
"""

SWITCH = f"""\
#!/bin/sh
# Written by groundup.cloud: puts the new network files in place, or the former ones back.
# network-switch new | back REASON | boot
set -u
state={STATE} files={DIRECTORY}

put() {{
    mkdir -p "$files"
    rm -f "$files"/{networkd.PREFIX}*
    for one in "$state/$1"/*; do
        if [ -e "$one" ]; then cp -p "$one" "$files/"; fi
    done
    sync
}}

settled() {{
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        networkctl --no-legend --no-pager list | grep -q configuring || break
    done
}}

lines() {{
    if [ -e "$1" ]; then
        while read -r line; do ip -4 $line 2> /dev/null; done < "$1"
    fi
}}

take_up() {{
    udevadm control --reload 2> /dev/null
    lines "$state/$1.stale"
    networkctl reload
    if [ -s "$state/$1.gone" ] || [ -e "$state/$1.restart" ]; then
        settled
        while read -r device; do ip link delete dev "$device"; done < "$state/$1.gone"
        systemctl restart {SERVICE}
    fi
}}

case $1 in
    new)
        [ -e "$state/pending" ] || exit 0
        put new
        systemctl enable --quiet --now {SERVICE}
        take_up new
        touch "$state/applied"
        ;;
    back | boot)
        mv "$state/pending" "$state/reverting" 2> /dev/null || [ -e "$state/reverting" ] || exit 0
        put former
        if [ -e "$state/former.off" ]; then
            systemctl disable --quiet {SERVICE}
        fi
        if [ "$1" = back ]; then
            take_up former
            if [ -e "$state/former.off" ]; then
                systemctl stop {SERVICE}
                lines "$state/former.off"
            fi
        fi
        echo "${{2:-the host was restarted before anybody confirmed it}}" > "$state/reverting"
        mv "$state/reverting" "$state/taken-back"
        ;;
esac
"""

BOOT = f"""\
# Written by groundup.cloud.
[Unit]
Description=Take back a network change that nobody confirmed
DefaultDependencies=no
ConditionPathExists=|{STATE}/pending
ConditionPathExists=|{STATE}/reverting
After=local-fs.target
Before=network-pre.target {SERVICE}
Wants=network-pre.target

[Service]
Type=oneshot
ExecStart={PROGRAM} boot

[Install]
WantedBy=multi-user.target
"""


def taken_back() -> str:
    """Return why the last change was reverted; empty when it was not."""
    return (files.read(STATE / "taken-back") or "").strip()


def pending() -> bool:
    """Return whether the change is neither confirmed nor being reverted."""
    return (STATE / "pending").exists()


def under_way(*, timeout: float) -> bool:
    """Wait for a pending change of a killed run to be reverted; return whether it is still pending."""
    marks = [STATE / "pending", STATE / "reverting"]
    return wait_until(lambda: any(mark.exists() for mark in marks), timeout=timeout, pause=1.0)


def present() -> dict[str, str]:
    """Return our networkd files on this host: name to text."""
    return {path.name: files.read(path) or "" for path in sorted(DIRECTORY.glob(f"{networkd.PREFIX}*"))}


def foretell(changes: Changes, wanted: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Record each file that differs; return whether any does. Writes nothing."""
    for name in sorted({*wanted, *now}):
        before, after = now.get(name), wanted.get(name)
        if before != after:
            verb = "remove" if after is None else "write"
            path = DIRECTORY / name
            changes.add(f"{verb} {path}", name=str(path), before=before or "", after=after or "")
    return wanted.keys() != now.keys() or any(now[name] != text for name, text in wanted.items())


def start(wanted: Mapping[str, str], now: Mapping[str, str], *, seconds: int, restart: bool) -> None:
    """Schedule the revert after ``seconds``, then the change itself shortly after this call. Raises GroundupError.

    ``restart``: networkd's own settings changed, which it reads only at its start.
    """
    shutil.rmtree(STATE, ignore_errors=True)
    links = Links.read()
    for name, texts, other in (("new", wanted, now), ("former", now, wanted)):
        made, before = networkd.devices(texts), networkd.devices(other)
        gone = [one for one, text in before.items() if made.get(one) != text]
        mine, theirs = links.said_by(texts), links.said_by(other)
        # networkd keeps addresses from before its own start: it does not know that it set them.
        stale = sorted((theirs if name == "former" else theirs | links.elsewhere(mine)) - mine)
        (STATE / name).mkdir(mode=0o755, parents=True)
        for file, text in texts.items():
            files.write_file(STATE / name / file, text.encode(), mode=0o644)
        for kind, words in (("gone", gone), ("stale", [f"{verb} {what}" for verb, what in stale])):
            files.write_file(STATE / f"{name}.{kind}", "".join(f"{one}\n" for one in words).encode(), mode=0o644)
    if restart:
        (STATE / "new.restart").touch()
    if attempt(["systemctl", "--quiet", "is-active", SERVICE]).returncode:
        files.write_file(STATE / "former.off", "".join(f"{line}\n" for line in as_it_is()).encode(), mode=0o644)
    files.write_file(PROGRAM, SWITCH.encode(), mode=0o755)
    files.write_file(BOOT_UNIT, BOOT.encode(), mode=0o644)
    run(["systemctl", "daemon-reload"])
    run(["systemctl", "enable", "--quiet", BOOT_UNIT.name])
    late = f"nobody confirmed it within {seconds} s over a new connection"
    _later(TIMER, seconds + HEAD_START, ["back", late])
    files.write_file(STATE / "pending", b"", mode=0o644)
    os.sync()
    _later(APPLY, HEAD_START, ["new"])


def as_it_is() -> list[str]:
    """Return arguments of ip that restore the present addresses, routes and MTUs, one line each."""
    links = Links.read()
    lines = []
    for link in links.all():
        if link["ifname"] == "lo":
            continue
        lines.append(f"link set dev {link['ifname']} mtu {link['mtu']} up")
        lines += [f"address replace {address} dev {link['ifname']}" for address in addresses_of(link)]
    for route in links.routes:
        if "gateway" in route and route.get("protocol") not in ("kernel", "ra"):
            mtu = next((f" mtu {one['mtu']}" for one in route.get("metrics", ()) if "mtu" in one), "")
            lines.append(f"route replace {route['dst']} via {route['gateway']} dev {route['dev']}{mtu}")
    return lines


def applied() -> bool:
    """Return whether networkd has loaded the new files."""
    return (STATE / "applied").exists()


def confirm() -> bool:
    """Confirm the change; return False when it was already reverted."""
    try:
        (STATE / "pending").rename(STATE / "confirmed")
    except FileNotFoundError:
        return False
    for kind in ("timer", "service"):
        attempt(["systemctl", "stop", f"{TIMER}.{kind}"])
    (STATE / "taken-back").unlink(missing_ok=True)
    return True


def take_back(reason: str) -> None:
    """Schedule the revert to the former network, shortly after this call. Raises GroundupError."""
    _later(f"{TIMER}-now", HEAD_START, ["back", reason])


def _later(unit: str, seconds: int, argv: Sequence[str]) -> None:
    for kind in ("timer", "service"):
        attempt(["systemctl", "stop", f"{unit}.{kind}"])
        attempt(["systemctl", "reset-failed", f"{unit}.{kind}"])
    run(
        ["systemd-run", "--quiet", "--collect", f"--unit={unit}", f"--on-active={seconds}",
         "--timer-property=AccuracySec=100ms", str(PROGRAM), *argv],
        why="a change of the network that nothing takes back may leave the host out of reach for good",
        remedy="systemctl status dbus there, then run this again",
    )  # fmt: skip
