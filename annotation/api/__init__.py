"""The JSON API for setting up and watching studies: serializers and views over the rooms' services.

May use monitoring and the rooms below it.
"""
