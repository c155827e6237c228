"""FAITH: a hierarchy of graphs over samples, prototypes and tasks."""
