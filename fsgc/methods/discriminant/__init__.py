"""The discriminant: descriptors of graphs, a metric in closed form and a shrunken linear discriminant per episode."""
