"""Ceph by other orchestrators: cephadm's and Rook's input from the plan."""
