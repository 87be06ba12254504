"""Process groups and their collectives."""
