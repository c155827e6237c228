"""SMF-GIN: read-outs of a GIN fused, prototypes, features centred and normalised in test."""
