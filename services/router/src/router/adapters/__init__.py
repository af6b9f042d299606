"""Everything outside the rules: encoders, the trained heads, language detection, the model provider."""
