"""Printed pseudo-code: read, looked through without running it, and run literally."""
