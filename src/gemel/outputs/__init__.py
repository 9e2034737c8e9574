"""What people get to see: pages and pictures."""
