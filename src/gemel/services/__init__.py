"""What several rooms need: formats, rendering, simulation, statistics, policies."""
