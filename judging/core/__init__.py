"""What rooms share and no room owns: errors, constants, form fields, prices, bulk SQL.

May use models.
"""
