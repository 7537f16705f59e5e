"""Ceph by other orchestrators than ours: what cephadm and Rook are told of the plan."""
