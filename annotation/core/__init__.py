"""What rooms share and no room owns: errors, opaque keys, records of files, Markdown, middleware, prepared queries.

May use no other room.
"""
