"""The program transformations, one pass per file; each is a trace plus one rule table."""
