"""Training, the same for every method that learns."""
