"""The house rules as code: each takes the repository's root and returns what breaks it, one readable line a finding."""
