"""What runs beside a robot."""
