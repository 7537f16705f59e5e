# Private: what a host must be like before the first change; the standard library of Python 3.9 alone.
