// Every stored input through its reader, with any compiler: the seeds, and what fuzzing once found.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/fault_points.h"
#include "tests/support/paths.h"

namespace flowtrain::corpus_test {
namespace {

namespace fs = std::filesystem;

std::vector<char> bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("stored inputs: none crashes its reader, and each reader has some") {
  const fs::path corpus = test::source_path("tests/fuzz/corpus");
  FaultPoints points("stored inputs");
  for (const auto& target : fuzz::targets()) {
    CAPTURE(target.name);
    REQUIRE(fs::is_directory(corpus / target.name));
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      CAPTURE(entry.path().string());
      const auto bytes = bytes_of(entry.path());
      CHECK_NOTHROW(fuzz::feed(target, std::as_bytes(std::span(bytes))));
      points.count();
    }
  }
  CHECK(static_cast<std::size_t>(std::distance(fs::directory_iterator(corpus), {})) == fuzz::targets().size());
  points.finish();
}

}  // namespace flowtrain::corpus_test
