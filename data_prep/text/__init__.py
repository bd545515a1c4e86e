"""Raw text to sentences, documents and a vocabulary."""
