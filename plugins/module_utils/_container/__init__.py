"""System containers that act as machines: private parts of the module `lab`."""
