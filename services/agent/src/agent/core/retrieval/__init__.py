"""Finding what the help center says, and checking that an answer says nothing else."""
