"""Upgrade of Kubernetes to the site file's version: what it would do, and what stands against it.

steps.py: versions, what may stand beside what, and the order; pure. survey.py: what runs, by the API. decide.py: what
stands against it, the table. preview.py: what changes in the manifests of a control host, by kubeadm itself.
"""
