"""Lines of proofs: each derived from what the paper assumes, defines and does, and from the lines before it."""
