#include "sampling/io/files.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(tar) {
  const flowtrain::Files files(flowtrain::fuzz::as_file(input, "data.tar").string());
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto name = files.name(i);
    flowtrain::fuzz::require(!name.starts_with('/') && name != ".." && !name.starts_with("../") &&
                                 !name.ends_with("/..") && name.find("/../") == name.npos,
                             "no name leads out of the archive");
    files.read(i, bytes);
    flowtrain::fuzz::require(bytes.size() == files.size_bytes(i), "a file has its size");
  }
}
