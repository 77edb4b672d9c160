#pragma once
// A detection net that trains in a second, and what every detector can do.

#include <doctest/doctest.h>

#include <algorithm>

#include "sampling/codecs/encode.h"
#include "tests/program/picture_files.h"

namespace flowtrain {

inline constexpr const char* detector = R"(name = "detector"
[run]
max_iter = 4
threads = 1
[data]
dataset = "shapes"
size = 64
samples = 40
val_samples = 6
objects = 2
[sampler]
name = "cornernet"
input_size = [63, 63]
output_size = [16, 16]
border = 16
[loader]
batch = 4
[net]
name = "cornernet_squeeze"
stacks = 1
stem = [8, 16]
widths = [16, 16]
blocks = [1, 1]
[loss]
name = "cornernet"
[optim]
name = "adam"
lr = 1e-3
[val]
every = 2
metrics = []
[snapshot]
every = 2
[display]
every = 1
[detect]
top_k = 10
num_dets = 50
)";

/// Four iterations on drawn shapes of six classes with their boxes; [net], [loss] and what else is needed come after
/// it.
inline constexpr const char* boxes_config = R"(name = "boxes"
[run]
max_iter = 4
threads = 1
[data]
dataset = "shapes"
size = 32
samples = 40
val_samples = 6
[sampler]
name = "boxes"
size = 32
objects = 3
[loader]
batch = 8
[optim]
name = "adam"
lr = 1e-3
[val]
every = 2
metrics = ["ap", "voc_map"]
pictures = 2
[snapshot]
every = 2
[detect]
least_score = 0.0
)";

/// Trains boxes_config with a net: its metrics are those of the test, and its boxes are drawn and predicted, in pixels
/// of the picture.
inline void check_detects(const TempRun& place) {
  const auto trained = place.train({"--run-dir", "run"});
  REQUIRE_EXIT(trained, 0);
  CHECK_SAYS(trained, "voc_map");
  const auto val = metrics_of(place.path("run"), "val").back();
  const auto tested = place.run({"test", "run", "--iter", "4", "--pictures", "1"});
  REQUIRE_EXIT(tested, 0);
  for (const char* key : {"loss", "ap", "voc_map"}) CHECK(nlohmann::json::parse(tested.out).at(key) == val.at(key));
  CHECK(read_text(place.path("run/test/iter-00000004/00-boxes.png")).starts_with("\x89PNG"));
  const auto results = nlohmann::json::parse(read_text(place.path("run/test/iter-00000004/results.json")));
  CHECK(results.size() > 6);
  const auto shown = nlohmann::json::parse(read_text(place.path("run/pictures/iter-00000004/pictures.json")));
  CHECK(shown.at("kind") == "detect");

  place.folder().write("wide.png", text_of(encode_png(gradient_picture(64, 128, 3).view())));
  const auto predicted =
      place.run({"predict", "run", "--iter", "4", "--min-score", "0", "--jsonl", "--pictures", "drawn", "wide.png"});
  REQUIRE_EXIT(predicted, 0);
  const auto boxes = nlohmann::json::parse(predicted.out).at("boxes");
  REQUIRE(boxes.size() > 1);
  double right = 0;
  for (auto& box : boxes) right = std::max(right, box.at("x2").get<double>());
  CHECK(right > 64);
  CHECK(right <= 128);
  CHECK(std::filesystem::exists(place.path("drawn/000001-wide.png")));
}

}  // namespace flowtrain
