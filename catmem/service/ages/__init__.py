"""How old a fact is: four clocks, and what the journal knows of them."""
