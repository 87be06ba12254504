"""Views, copies, new tensors, and joining and splitting them."""
