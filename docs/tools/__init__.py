"""What builds the documentation: code blocks that run, tables from the code, the API reference."""
