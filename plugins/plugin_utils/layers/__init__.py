"""Records of layers, roles, network purposes, storage backends, provisioners, ports, systems and package sets.

Types, the site file's schema, address shares, groups, colours, documentation and the order of playbooks derive from
these tables. A new record's name must also be in its table's `Literal`; a test compares them.
"""
