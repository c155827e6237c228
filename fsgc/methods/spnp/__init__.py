"""SPNP: a neural process over the embeddings of a prototypical network."""
