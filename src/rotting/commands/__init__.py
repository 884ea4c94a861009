"""What can be asked on the command line: one file per room, put together in `rotting.cli`."""
