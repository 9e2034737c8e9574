"""What people look at: pictures, and later the report, the viewer and exports. Knows artifacts and services only."""
