// The configurations that come with the program.

#include <doctest/doctest.h>

#include <set>

#include "pipeline/base/config/config.h"
#include "tests/pipeline/base/config/support.h"
#include "tests/support/paths.h"

namespace flowtrain::shipped_test {

TEST_CASE("every shipped configuration loads and can be trained with") {
  std::set<std::string> names;
  for (auto& each : std::filesystem::directory_iterator(test::source_path("configs"))) {
    if (each.path().extension() != ".toml") continue;
    CAPTURE(each.path().string());
    auto config = load_config(each.path());
    CHECK_NOTHROW(config.check_trainable());
    names.insert(config.name());
  }
  for (auto name : {"quickstart", "model", "fashion_mnist", "bccd", "cifar10", "image_folder", "webdataset"})
    CHECK(names.contains(name));
}

}  // namespace flowtrain::shipped_test
