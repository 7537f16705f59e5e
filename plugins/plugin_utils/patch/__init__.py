"""Patching the operating system of hosts: what it would change, and in which order."""
