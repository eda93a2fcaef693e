"""Names that jaxlib's compiled code imports by this path. Views only: nothing is defined here."""
