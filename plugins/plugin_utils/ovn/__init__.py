"""OVN's databases, as the controller knows them: which clusters are the site's, and who may make them."""
