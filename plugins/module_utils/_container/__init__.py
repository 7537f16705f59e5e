"""System containers that act as machines: private parts of `system_container` and `lab_network`."""
