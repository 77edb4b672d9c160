#include "tests/fuzz/support/fuzz_target.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sampling/core/error.h"

namespace flowtrain::fuzz {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("flowtrain-fuzz-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

void feed(const Target& target, Bytes input) {
  try {
    target.body(input);
  } catch (const UserError& error) {
    require(*error.what() != 0, "a refusal without a message");
  } catch (const SampleError& error) {
    require(*error.what() != 0, "a refusal without a message");
  }
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

fs::path as_file(Bytes input, const std::string& name) {
  static const Folder folder;
  const auto path = folder.path / name;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  stream.close();
  require(bool(stream), "the temporary folder can be written");
  return path;
}

}  // namespace flowtrain::fuzz
