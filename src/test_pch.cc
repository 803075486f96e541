// Carries the precompiled header of gmock that every test without libtorch reuses; holds no code.
