"""Reading and validation of the site file."""
