"""The release graph: render, diff, gate, apply, watch, heal, explain, verify.

Scope: Helm releases of one plan on one cluster, from the controller. The plan lists them
(`plan.openstack.releases`); this package rolls them out and reports.
"""
