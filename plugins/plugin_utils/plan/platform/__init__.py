"""Platform of the site: supply, cluster, virtual IP, storage, cloud."""
