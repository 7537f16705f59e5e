# Private: checks of a host before the first change. Only the standard library of Python 3.9.
