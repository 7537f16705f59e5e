"""Translate our values for charts of OpenStack-Helm, recognised by a chart's default values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .official import registered
from .parts import merge
from .record import Values


def nova(values: Values, defaults: Mapping[str, Any]) -> Values:
    """Return ``values`` for a chart where ``oslo_db`` is the cell's database, and the API's is ``oslo_db_api``."""
    if "oslo_db_api" not in defaults["endpoints"]:
        return values
    endpoints = dict(values["endpoints"])
    api, cell = endpoints["oslo_db"], endpoints.pop("oslo_db_cell1")
    return {**values, "endpoints": {**endpoints, "oslo_db": cell, "oslo_db_api": api}}


_SUDOERS = """\
Defaults !requiretty
Defaults secure_path="/var/lib/openstack/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#42424 ALL = (root) NOPASSWD: /var/lib/openstack/bin/cinder-rootwrap /etc/cinder/rootwrap.conf *
"""


def cinder(values: Values, defaults: Mapping[str, Any]) -> Values:
    """Return ``values`` for a chart where Cinder has a root of its own.

    cinder-volume converts images by sudo. The rule names its user by number, as all services of our image have one, and
    its first name is another's; the path is where the image has ``cinder-rootwrap``. cinder-backup keeps more
    capabilities than the chart gives it (os-brick 2026.1, ``privileged``; Cinder, ``privsep``), and without them waits
    for ever.
    """
    values = registered(values, defaults, service="cinder", type_="volumev3", official="block-storage")
    if "cinder_sudoers" not in defaults["conf"]:
        return values
    more = {"capabilities": {"add": ["SYS_ADMIN", "DAC_READ_SEARCH", "NET_ADMIN"]}}
    root = {
        "conf": {"cinder_sudoers": _SUDOERS},
        "pod": {"security_context": {"cinder_backup": {"container": {"cinder_backup": more}}}},
    }
    return merge(root, values)


def neutron(values: Values, defaults: Mapping[str, Any]) -> Values:
    """Return ``values`` for a chart that has Neutron's account for reverse records, or the older agent's file.

    That account would have a public password and be an administrator. Nothing uses it: it is Neutron's own.
    The file is of the OVN metadata agent, not of the newer OVN agent.
    """
    if "designate" in values["conf"]["neutron"] and "designate" in defaults["endpoints"]["identity"]["auth"]:
        own = values["endpoints"]["identity"]["auth"]["neutron"]
        values = merge({"endpoints": {"identity": {"auth": {"designate": own}}}}, values)  # or the site's override
    if "ovn_agent" in defaults["conf"]:
        return values
    conf = dict(values["conf"])
    agent = conf.pop("ovn_agent")
    return {**values, "conf": {**conf, "ovn_metadata_agent": merge(agent, conf.get("ovn_metadata_agent", {}))}}


def manila(values: Values, defaults: Mapping[str, Any]) -> Values:
    """Return ``values`` for a chart whose pipelines name an API version that Manila 2026.1 no longer has."""
    values = registered(values, defaults, service="manila", type_="sharev2", official="shared-file-system")
    paths = "composite:osapi_share"
    if "/v1" not in defaults["conf"].get("paste", {}).get(paths, {}):
        return values
    return merge(values, {"conf": {"paste": {paths: {"/v1": None}}}})


def magnum(values: Values, defaults: Mapping[str, Any]) -> Values:
    """Return ``values`` for a chart that knows one type of the catalog."""
    official = "container-infrastructure-management"
    return registered(values, defaults, service="magnum", type_="container-infra", official=official)
