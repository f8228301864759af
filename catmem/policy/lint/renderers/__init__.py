"""The forms in which findings are shown, one module each: for people, programs, GitHub and code scanners."""
