# Private: OVN's databases and northd on a control host.
