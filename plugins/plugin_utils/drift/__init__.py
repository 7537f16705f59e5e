"""What differs on a site that runs from its site file: the layers' own dry runs, and what these cannot see."""
