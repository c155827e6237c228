"""AS-MAML."""
