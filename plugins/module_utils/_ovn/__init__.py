# Private: OVN's databases and northd on control hosts.
