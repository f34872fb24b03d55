"""The proofreader: defects between the formulas, in names, indices, algorithms, citations, cases and totals."""

from bilevel_verify.audit.findings.causes import GRADES
from bilevel_verify.proofreading.defect import KINDS, Defect, Group, grouped
from bilevel_verify.proofreading.report import Report, proofread, proofread_draft

__all__ = ["GRADES", "KINDS", "Defect", "Group", "Report", "grouped", "proofread", "proofread_draft"]
