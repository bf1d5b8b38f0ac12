"""How dates are written in each language, where Tandem wants it otherwise than Django."""
