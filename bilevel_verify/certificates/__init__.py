"""Certificates: proofs of scalar relations as data, found here and checked by ``bilevel_check``."""
