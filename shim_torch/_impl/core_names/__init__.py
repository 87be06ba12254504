"""The private functions of torch._C that libraries call."""
