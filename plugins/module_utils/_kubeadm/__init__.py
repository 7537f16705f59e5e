"""Private parts of the module ``kubeadm_node``, run on a managed host. Standard library only."""
