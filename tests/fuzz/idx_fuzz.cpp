#include "sampling/datasets/idx_file.h"
#include "sampling/datasets/whole_file.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(idx) {
  const auto path = flowtrain::fuzz::as_file(input, "images-idx3-ubyte.gz");
  const flowtrain::Files files(path.parent_path().string());
  const auto idx = flowtrain::parse_idx(flowtrain::read_whole(files, *files.find(path.filename().string())), "images");
  std::uint64_t values = 1;
  for (const auto extent : idx.shape) values *= extent;
  flowtrain::fuzz::require(values == idx.values().size(), "the values are as many as the shape says");
}
