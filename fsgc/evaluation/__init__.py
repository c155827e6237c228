"""From a method and stored test episodes to scores, a row per episode, and metrics."""
