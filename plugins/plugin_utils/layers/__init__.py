"""One record for each layer, role, network purpose, storage backend, provisioner and package set.

Types, the site file's schema, address shares, groups, colours, documentation and the order of playbooks derive from
these tables. A record with a name of its own needs that name in the table's `Literal`, which a test holds to the table.
"""
