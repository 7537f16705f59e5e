"""What monitoring runs on hosts: the node exporter everywhere; store, rules and Alertmanager on the monitoring host."""
