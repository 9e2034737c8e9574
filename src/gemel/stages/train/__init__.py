"""Twin + Task -> PolicyCard: policies that push, trained with PPO in many simulations at once."""
