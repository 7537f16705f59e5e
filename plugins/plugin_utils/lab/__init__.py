"""A lab on the controller: what it requires, its networks and its hosts."""
