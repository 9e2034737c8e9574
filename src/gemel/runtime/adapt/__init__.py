"""Online belief: what is known of an object's physics while a policy handles it.

| estimator | what it goes by |
|---|---|
| `Fixed` | the truth (`known`, for privileged policies) or the prior alone (`prior_only`) |
| `Ensemble` | an ensemble of history encoders alone (`history_only`) |
| `Memoryless` | prior and ensemble fused by inverse variance, anew at each step (`fused_memoryless`) |
| `PushFilter` | a Bayesian filter with memory on a model of pushing (`fused`) |

All answer behind `services/policy/estimator.py`. numpy and numba only.
"""
