"""`gemel bench servo`: where a servo takes a pendulum."""
