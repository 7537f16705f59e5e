# Private: what module hypervisor does on a host.
