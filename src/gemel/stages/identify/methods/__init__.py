"""Ways from a problem and a prior to a posterior, behind one signature."""
