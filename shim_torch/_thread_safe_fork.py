"""``torch._thread_safe_fork``: importing it does nothing here."""
