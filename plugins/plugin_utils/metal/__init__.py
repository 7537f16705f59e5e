"""Machines from power-off: what Ironic is told of them, their way from dark to installed, and the journal of it."""
