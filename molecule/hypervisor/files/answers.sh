#!/bin/sh
# What a hypervisor says of itself, a line each; verify.yml has the answers it must give.
stat --format '%a %U %G %n' /etc/nova/nova-compute.conf /etc/nova/host.conf /etc/neutron/ovn_agent.ini /etc/neutron/host.conf
grep -qE '^\[(api_)?database\]|mysql' /etc/nova/* /etc/neutron/*.ini /etc/neutron/*.conf 2>/dev/null && echo a database || echo no database
cat /etc/openvswitch/system-id.conf
ovs-vsctl --if-exists get Open_vSwitch . external_ids:ovn-remote | tr -d '"'
