"""The start and end of commands, and their use of the machine: flags, errors, files, processes."""
