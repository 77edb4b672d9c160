#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/manifest.h"
#include "sampling/core/error.h"
#include "tests/fuzz/support/fuzz_target.h"

// Reads the input as it is, and with the right hash at its end, which would otherwise be refused at once.
FUZZ_TARGET(manifest) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    flowtrain::parse_manifest(text, "manifest.json");
  } catch (const flowtrain::UserError&) {
  }
  const auto sealed = text + ",\n \"xxh64\": \"" + flowtrain::xxh64_hex(text) + "\"\n}\n";
  const auto manifest = flowtrain::parse_manifest(sealed, "manifest.json");
  flowtrain::parse_manifest(flowtrain::manifest_text(manifest), "what was written");
}
