"""Episodes: drawn once, stored as graph indices, met by every method alike."""
