"""Hypervisors: their configuration, from the cluster's Secrets and the plan; whether they have joined the cloud."""
