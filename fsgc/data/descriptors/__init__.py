"""Descriptors: documented functions of one graph, computed for all graphs of a dataset at once."""
