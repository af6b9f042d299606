"""Starts Kafka, PostgreSQL and Redis, and supervises the services on one machine."""
