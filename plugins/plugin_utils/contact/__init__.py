"""The site's ssh key, and first contact with an installed host: find a working login, and its ssh host key."""
