"""Private parts of the module ``node``, run on a managed host. Standard library only."""
