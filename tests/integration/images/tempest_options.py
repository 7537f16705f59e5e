"""Run by Tempest's environment: print options of the file given that neither Tempest nor a plugin knows."""

from __future__ import annotations

import configparser
import json
import sys

from oslo_config import cfg
from tempest import config  # type: ignore[import-not-found]  # of its environment

FOREIGN = {"DEFAULT": {"log_dir", "log_file", "debug"}, "oslo_concurrency": {"lock_path"}}  # of libraries


def main() -> None:
    """Print what is unknown or does not fit, as JSON."""
    file = configparser.RawConfigParser(default_section="")
    file.optionxform = str  # type: ignore[method-assign,assignment]
    file.read(sys.argv[1])
    config.CONF.set_config_path(sys.argv[1])
    config.register_opts()
    cfg.CONF([], project="tempest", default_config_files=[sys.argv[1]])
    wrong = []
    for section in file.sections():
        group = cfg.CONF if section == "DEFAULT" else cfg.CONF.get(section, {})
        for name in set(file[section]) - FOREIGN.get(section, set()):
            try:
                if name not in group:
                    wrong.append(f"{section}.{name} is unknown")
                else:
                    getattr(group, name)
            except (ValueError, cfg.Error) as error:
                wrong.append(f"{section}.{name}: {error}")
    print(json.dumps(wrong))


main()
