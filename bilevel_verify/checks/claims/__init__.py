"""What an expression of a claim is worth, and the verdict of one relation at its places."""
