# Private: how modules of this collection converge files, units, packages and the kernel of a host.
