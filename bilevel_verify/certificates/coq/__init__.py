"""Certificates as Coq files: the same statement, the same lines, each checked by Coq's kernel; no search inside Coq."""
