"""The commands of ``python -m compat``, one module each."""
