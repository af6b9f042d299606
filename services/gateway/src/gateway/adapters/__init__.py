"""Every await on the outside world."""
