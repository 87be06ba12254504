"""What the bodies and gradients of several families share; no records."""
