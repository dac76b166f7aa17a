"""A plain simulator of small networks, as the reference for the transports after TCP.

It was written from the pages of the transports and has one heap of events. It is slow, and too simple to have the
same faults as the packet level.
"""
