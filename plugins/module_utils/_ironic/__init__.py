"""Shared code of the modules for Ironic on the seed."""
