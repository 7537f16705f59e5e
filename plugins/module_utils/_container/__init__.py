"""System containers as machines: what `system_container` and `lab_network` are made of. Private to them."""
