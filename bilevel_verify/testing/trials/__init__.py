"""How a callable is tried: guarded calls, examples from bytes in a child process, one error for every breach."""
