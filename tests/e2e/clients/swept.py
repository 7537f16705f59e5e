"""Deletes all that smoke tests of this machine left behind; prints what cannot be deleted."""

from __future__ import annotations

import json

import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.sweep import leftovers, sweep

cloud = openstack.connect()
print(json.dumps([line for name in leftovers(cloud) for line in sweep(cloud, name)]))
