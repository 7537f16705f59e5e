"""Disables the compute service of a host with a reason, or enables it without one; prints its status."""

from __future__ import annotations

import json
import sys

import openstack

host, reason = sys.argv[1:]
cloud = openstack.connect(load_yaml_config=False)
(service,) = cloud.compute.services(binary="nova-compute", host=host)
body = {"status": "disabled", "disabled_reason": reason} if reason else {"status": "enabled"}
answer = cloud.compute.put(f"/os-services/{service.id}", json=body, microversion="2.53")
answer.raise_for_status()
print(json.dumps(answer.json()["service"]["status"]))
