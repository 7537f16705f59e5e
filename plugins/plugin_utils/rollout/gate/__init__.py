"""Every reason against a change, and the decision on it."""
