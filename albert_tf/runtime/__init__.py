"""How commands start, end and use the machine: flags, errors, files, processes."""
