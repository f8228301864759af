"""How old facts are, which are due for a review, and the review that makes them young again."""
