"""OVN's databases on the controller: the record of the site's clusters, who may create them, and backups."""
