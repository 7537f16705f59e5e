# Private: a control host in maintenance, across the layers on it.
