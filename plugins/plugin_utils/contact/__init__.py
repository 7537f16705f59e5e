"""First contact with an installed host: find a working login, and its ssh host key."""
