"""What runs on the machines: supply, cluster, edge, cloud."""
