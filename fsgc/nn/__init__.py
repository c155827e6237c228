"""Building blocks of the networks that at least two methods share; import them from their modules."""
