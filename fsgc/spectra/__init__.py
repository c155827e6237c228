"""Laplacian spectra of graphs, distances between them, and the super-classes of GSM that rest on both."""
