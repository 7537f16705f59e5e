"""Upgrade of Kubernetes to the site file's version.

steps.py: versions, what may stand beside what, and the order; pure. survey.py: what runs, by the API and the hosts.
decide.py: what stands against it, the table. journal.py: which upgrade is under way. preview.py: what changes in the
manifests of a control host, by kubeadm itself.
"""
