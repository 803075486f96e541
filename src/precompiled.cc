// Carries a precompiled header that others reuse; holds no code.
