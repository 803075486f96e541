// Carries the precompiled torch header that every engine target reuses; holds no code.
