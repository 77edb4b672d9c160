#include "sampling/core/error.h"
#include "sampling/io/zip.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(zip) {
  const auto path = flowtrain::fuzz::as_file(input, "a.zip").string();
  const auto file = flowtrain::Descriptor::file(path.c_str());
  std::size_t bytes = 0;
  for (const auto& entry : flowtrain::scan_zip(file, path)) {
    bytes += entry.packed_bytes;
    flowtrain::fuzz::require(entry.data_offset + entry.packed_bytes <= input.size(), "an entry is within the file");
    try {
      if (entry.deflated) flowtrain::inflate_entry(file, entry, path);
    } catch (const flowtrain::UserError&) {
    }
  }
  flowtrain::fuzz::require(bytes <= input.size(), "entries do not overlap");
}
