"""From a paper's source to a card: LaTeX or Markdown in, statements, links, letters and questions out."""

from bilevel_verify.drafting.answers import Answers, Question, read_answers
from bilevel_verify.drafting.draft import Draft, draft
from bilevel_verify.drafting.drafted import Counts

__all__ = ["Answers", "Counts", "Draft", "Question", "draft", "read_answers"]
