"""HITs as they lie in the database: the slots of a HIT, their arms, the sides drawn for a display, idle claims.

May use models, questions and core.
"""
