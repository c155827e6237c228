"""The methods of the field: one file each, one line in `fsgc.methods.registry`."""
