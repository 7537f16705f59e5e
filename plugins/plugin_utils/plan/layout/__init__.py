"""Networks, machines and addresses."""
