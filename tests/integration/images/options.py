"""Run in an image: print the options of services' configuration that nothing of theirs knows, as JSON.

Usage: options.py DIRECTORY    DIRECTORY/<service>/: files of its configuration.
"""

from __future__ import annotations

import configparser
import importlib.metadata
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from keystoneauth1 import loading
from oslo_config import cfg

LIBRARIES = ("oslo.", "keystonemiddleware", "osprofiler", "castellan", "futurist", "glance.store", "glance_store")
ENTRIES = importlib.metadata.entry_points(group="oslo.config.opts")
ACCOUNTS = {"auth_type", "auth_section"} | {
    spelt.replace("-", "_")
    for option in (*loading.get_plugin_loader("v3password").get_options(), *loading.get_adapter_conf_options())
    for spelt in (option.name, *(old.name for old in getattr(option, "deprecated", ()) or ()))
} | {option.dest for option in (*loading.get_session_conf_options(), *loading.get_adapter_conf_options())}  # fmt: skip


def spelt(options: list[cfg.Opt]) -> Iterator[str]:
    """Yield the names of options, former ones too."""
    for option in options:
        yield option.dest
        yield from (old.name.replace("-", "_") for old in option.deprecated_opts if old.name)


def known(service: str) -> dict[str, set[str]]:
    """Return the options of a service and of the libraries that it uses, by section."""
    found: dict[str, set[str]] = {}
    for entry in ENTRIES:
        if entry.name.split(".")[0] != service and not entry.name.startswith(LIBRARIES):
            continue
        try:
            listed = entry.load()()
        except ImportError:
            continue  # of a library that this service has no use for
        for group, options in listed:
            name = "DEFAULT" if group is None else group if isinstance(group, str) else group.name
            found.setdefault(name, set()).update(spelt(options))
            # What moved is also known where it was.
            for option in options:
                for old in option.deprecated_opts:
                    found.setdefault(old.group or name, set()).add((old.name or option.dest).replace("-", "_"))
    return found


def unknown(service: str, file: Path) -> Iterator[str]:
    """Yield ``section.option`` of what nothing knows. A section of an account has its options, too."""
    have = known(service)
    config = configparser.RawConfigParser(default_section="", strict=False)
    config.optionxform = str  # type: ignore[method-assign,assignment]
    config.read(file)
    for section in config.sections():
        options = have.get(section, set()) | (ACCOUNTS if "auth_type" in config[section] else set())
        yield from (f"{section}.{name}" for name in config[section] if name not in options)


def main() -> None:
    """Print them by service and file."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    names = {entry.name.split(".")[0] for entry in ENTRIES}
    places = [place for place in sorted(Path(sys.argv[1]).iterdir()) if place.name in names]
    said = {
        f"{place.name}/{file.name}": sorted(unknown(place.name, file))
        for place in places
        for file in sorted((*place.glob("*.conf"), *place.glob("ml2_conf.ini"), *place.glob("ovn_agent.ini")))
        if file.name not in ("logging.conf", "wsgi-keystone.conf", "mpm_event.conf", "security.conf")
    }
    print(json.dumps(said))


main()
