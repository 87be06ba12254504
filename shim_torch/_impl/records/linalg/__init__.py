"""Products, factors and solutions of matrices."""
