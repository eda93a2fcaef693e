"""From jaxprs to running programs: compiled calls and eager operations."""
