"""Prototypical networks, task-adaptive embedding, latent mixup."""
