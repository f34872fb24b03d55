"""Controls of the audit: mutants of what was proved, and what becomes of them."""
