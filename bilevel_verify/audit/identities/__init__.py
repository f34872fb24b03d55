"""Identities between derivatives: refuted on random smooth problems, proved for all by implicit calculus."""
