"""The Kubernetes API, from the controller, with the admin kubeconfig of the site."""
