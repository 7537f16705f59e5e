"""The site the benchmarks of many hosts run on: three control hosts, a seed, and workers in three racks."""

from __future__ import annotations

SITE = """\
plugin: groundup.cloud.site
site: {name}
domain: bench.test
profile: region
networks:
  management: {{cidr: {management}}}
  storage: {{cidr: 10.1.0.0/16}}
machines:
  seed: {{count: 1, rack: r1}}
  control: {{count: 3, racks: [r1, r2, r3]}}
  worker: {{count: {workers}, racks: [r1, r2, r3]}}
kubernetes: {{cni: flannel, pod_cidr: 10.240.0.0/12}}
storage: {{backend: external}}
"""


def site_file(name: str, *, hosts: int, management: str) -> str:
    """Return the site file of ``hosts`` hosts in all."""
    return SITE.format(name=name, management=management, workers=hosts - 4)
