"""What writes which file: each module's ``FILES``, a path from the root and the function that makes what the file holds."""
