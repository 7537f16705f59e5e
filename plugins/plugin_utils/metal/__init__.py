"""Machines from power-off: their Ironic nodes, provisioning, deprovisioning and journals."""
