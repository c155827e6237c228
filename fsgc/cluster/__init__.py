"""Cells of the tables on a Ray cluster that the user has (`pip install fsgc[ray]`)."""
