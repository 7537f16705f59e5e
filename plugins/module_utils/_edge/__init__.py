"""The edge of a site on its control hosts: virtual IP, HAProxy."""
