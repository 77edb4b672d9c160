// configs/import_cornernet_lite.py: what it prints is a configuration of ours.

#include <doctest/doctest.h>

#include "pipeline/base/config/config.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::import_cornernet_test {

namespace {

constexpr const char* squeeze = R"({
  "system": {"dataset": "COCO", "batch_size": 55, "sampling_function": "cornernet", "train_split": "trainval",
             "val_split": "minival", "learning_rate": 0.00025, "decay_rate": 10, "val_iter": 100, "opt_algo": "adam",
             "prefetch_size": 5, "max_iter": 500000, "stepsize": 450000, "snapshot": 5000,
             "chunk_sizes": [13, 14, 14, 14]},
  "db": {"rand_scale_min": 0.6, "rand_scale_max": 1.4, "rand_scale_step": 0.1, "rand_scales": null, "rand_crop": true,
         "rand_color": true, "border": 128, "gaussian_bump": true, "gaussian_iou": 0.3, "input_size": [511, 511],
         "output_sizes": [[64, 64]], "test_scales": [1], "top_k": 20, "num_dets": 100, "categories": 80,
         "test_flipped": false, "ae_threshold": 0.5, "nms_threshold": 0.5}
})";

bool has_python() { return std::system("python3 -c '' 2>/dev/null") == 0; }

Outcome import_of(const TempFolder& folder, const std::string& file) {
  ProcessOptions place{folder.path()};
  place.program = "/usr/bin/env";
  return run_program({"python3", test::source_path("configs/import_cornernet_lite.py"), file}, place);
}

Config config_of(const TempFolder& folder, const Outcome& imported) {
  REQUIRE_MESSAGE(imported.code == 0, imported);
  return load_config(folder.write("imported.toml", imported.out));
}

}  // namespace

TEST_CASE("a configuration of CornerNet-Lite becomes one of ours") {
  SKIP_UNLESS(has_python(), "python3", "there is no python3");
  const TempFolder folder;
  folder.write("CornerNet_Squeeze.json", squeeze);
  const auto imported = import_of(folder, "CornerNet_Squeeze.json");
  CHECK(imported.out.find("#     chunk_sizes = [13, 14, 14, 14]") != std::string::npos);
  const auto config = config_of(folder, imported);
  CHECK(config.name() == "CornerNet_Squeeze");
  CHECK(config.table("net").text("name") == "cornernet_squeeze");
  CHECK(config.table("loader").integer("batch") == 55);
  CHECK(config.table("lr").real("decay_rate") == 10);
  CHECK(config.table("sampler").integers("output_size") == std::vector<std::int64_t>{64, 64});
  CHECK(config.table("sampler").real("gaussian_iou") == 0.3);
  CHECK(config.table("detect").integer("top_k") == 20);
  CHECK_FALSE(config.table("detect").boolean("test_flipped"));
  CHECK(config.data(true).text("split") == "trainval2014");
  CHECK(config.data(false).text("split") == "minival2014");
}

TEST_CASE("what a file leaves out is what theirs would take") {
  SKIP_UNLESS(has_python(), "python3", "there is no python3");
  const TempFolder folder;
  folder.write("CornerNet_Saccade-test.json",
               R"({"system": {"sampling_function": "cornernet_saccade", "opt_algo": "sgd"},
    "db": {"att_scales": [[1, 2, 4]], "att_thresholds": [0.3], "att_ranges": [[96, 256], [32, 96], [0, 32]]}})");
  const auto config = config_of(folder, import_of(folder, "CornerNet_Saccade-test.json"));
  CHECK(config.table("net").text("name") == "cornernet_saccade");
  CHECK(config.list("optim")[0].real("momentum") == 0.9);
  CHECK(config.table("sampler").real("gaussian_iou") == 0.7);
  CHECK(config.table("detect").reals("att_scales") == std::vector<double>{1, 2, 4});
  CHECK(config.table("detect").real("att_threshold") == 0.3);
  CHECK(config.table("sampler").integers("att_ranges") == std::vector<std::int64_t>{96, 256, 32, 96, 0, 32});
}

TEST_CASE("every key that the sampler has is taken, also where a list of theirs is a single value") {
  SKIP_UNLESS(has_python(), "python3", "there is no python3");
  const TempFolder folder;
  folder.write("CornerNet_Saccade.json", R"({
    "system": {"sampling_function": "cornernet_saccade", "opt_algo": null, "train_split": 5},
    "db": {"min_scale": 24, "max_objects": 64, "quirks": "mirror", "att_threshold": 0.2, "att_thresholds": 0.4}})");
  const auto config = config_of(folder, import_of(folder, "CornerNet_Saccade.json"));
  CHECK(config.table("sampler").integer("min_scale") == 24);
  CHECK(config.table("sampler").integer("max_objects") == 64);
  CHECK(config.table("sampler").text("quirks") == "mirror");
  CHECK(config.table("detect").real("att_threshold") == 0.4);
  CHECK_FALSE(config.data(true).given("split"));
}

TEST_CASE("files that are no such configuration") {
  SKIP_UNLESS(has_python(), "python3", "there is no python3");
  const TempFolder folder;
  folder.write("CornerNet.json", "[1]");
  folder.write("CornerNet_Squeeze.json", "{");
  folder.write("YOLO.json", R"({"system": {}, "db": {}})");
  for (auto& [file, what] : {std::pair{"CornerNet.json", "not a configuration of CornerNet-Lite"},
                             std::pair{"CornerNet_Squeeze.json", "not a configuration of CornerNet-Lite"},
                             std::pair{"YOLO.json", "its name is not that of a net"},
                             std::pair{"CornerNet-none.json", "cannot be read: No such file or directory"}}) {
    const auto refused = import_of(folder, file);
    CHECK(refused.code == 1);
    CHECK_MESSAGE(refused.err.find(std::string("error: ") + file + ": " + what) != std::string::npos, refused);
  }
}

}  // namespace flowtrain::import_cornernet_test
