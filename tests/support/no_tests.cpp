// The only source of the programs that own the precompiled headers of the tests.
