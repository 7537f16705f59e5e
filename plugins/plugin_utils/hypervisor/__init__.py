"""Configuration of hypervisors, from the cluster's Secrets and the plan."""
