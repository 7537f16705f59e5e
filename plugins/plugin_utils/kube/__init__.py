"""The cluster as the controller sees it: through the admin kubeconfig in the site's state directory."""
