"""What is believed of physical parameters before anything has been touched."""
