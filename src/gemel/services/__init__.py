"""What several rooms need: formats, rendering, simulation and the like."""
