"""vmap: rules by operator."""
