"""Private parts of the module ``kubeadm_node``: what runs on a managed host, standard library only."""
