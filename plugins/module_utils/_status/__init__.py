# Private: what one host says of the layers on it. Reads only, holds no lock.
