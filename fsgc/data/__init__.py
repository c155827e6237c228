"""Raw files to checked stores: the catalog, the download, the readers, the graph store, the class splits."""
