"""One module a raw format, each with a function from a directory of raw files to a `GraphStore`."""
