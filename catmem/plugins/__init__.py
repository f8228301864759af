"""The plugins that come with catmem. The core imports none of them: it finds them as it finds those of others."""
