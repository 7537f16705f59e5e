"""What OpenStack's services read of a text in their configuration."""

from __future__ import annotations

from oslo_config import cfg


def read(text: str) -> str:
    """Return what an option is, as oslo.config reads ``text`` of it."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("option"))
    conf([], project="none", default_config_files=[], default_config_dirs=[])
    conf.set_override("option", text)
    return str(conf.option)
