"""The flow level beside the packet level."""
