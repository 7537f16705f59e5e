"""A site whose one host is at an address where nobody answers."""

SITE = """\
plugin: groundup.cloud.site
site: abroad
domain: abroad.test
profile: edge
networks: {management: {cidr: 127.94.0.0/24, gateway: 127.94.0.1}}
machines: {node: {roles: [control, seed, worker], names: [node-1], machines: {node-1: {address: 127.94.0.11}}}}
access: {port: 9}
openstack: {services: [keystone]}
"""
