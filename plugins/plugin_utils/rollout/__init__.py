"""The release graph: render, diff, gate, apply, watch, heal, explain, verify.

Scope: Helm releases of one plan on one cluster, from the controller. What the releases are is the plan's word
(`plan.openstack.releases`); this package carries it out and says what it saw.
"""
