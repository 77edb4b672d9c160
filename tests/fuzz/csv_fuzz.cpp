#include "tests/fuzz/support/table_target.h"

FUZZ_TARGET(csv) { read_table_file(input, "a.csv"); }
