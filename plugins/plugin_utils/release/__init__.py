"""A step from one OpenStack release to another: what speaks against it now, and the page that says so.

facts.py: what runs. judge.py: rows, from facts alone. page.py: the page for reviewers. check.py: all of it for a site.
"""
