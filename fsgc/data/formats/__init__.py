"""A user's own graphs: files of many formats, and networkx graphs, each read into `RawGraphs`."""
