"""Where the cameras and the robot really are: from the table's texture and from the robot in view."""
