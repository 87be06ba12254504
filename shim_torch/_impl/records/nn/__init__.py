"""Layers: linear, convolution, pooling, normalization, embeddings and losses."""
