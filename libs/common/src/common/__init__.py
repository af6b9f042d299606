"""What two services share: events, bus, outbox and inbox, statements, guard, models, telemetry."""
