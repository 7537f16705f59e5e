# Private: what module hypervisor_node does on a host.
