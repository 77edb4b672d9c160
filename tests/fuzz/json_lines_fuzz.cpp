#include "tests/fuzz/support/table_target.h"

FUZZ_TARGET(json_lines) { read_table_file(input, "a.jsonl"); }
