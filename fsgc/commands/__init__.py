"""The subcommands of `fsgc`, one module each."""
