"""Entities in a database: one store on SQLAlchemy Core, for SQLite and PostgreSQL."""
