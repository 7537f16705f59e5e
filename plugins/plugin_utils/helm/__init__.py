"""The one caller of helm, the records it keeps in the cluster, and the manifests it renders."""
