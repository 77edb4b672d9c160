#include "pipeline/config/cornernet_json.h"

#include <doctest/doctest.h>

#include "pipeline/config/config.h"
#include "sampling/core/error.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;

namespace {

constexpr const char* squeeze = R"({
  "system": {"dataset": "COCO", "batch_size": 55, "sampling_function": "cornernet", "train_split": "trainval",
             "val_split": "minival", "learning_rate": 0.00025, "decay_rate": 10, "val_iter": 100, "opt_algo": "adam",
             "prefetch_size": 5, "max_iter": 500000, "stepsize": 450000, "snapshot": 5000, "chunk_sizes": [13, 14, 14, 14]},
  "db": {"rand_scale_min": 0.6, "rand_scale_max": 1.4, "rand_scale_step": 0.1, "rand_scales": null, "rand_crop": true,
         "rand_color": true, "border": 128, "gaussian_bump": true, "gaussian_iou": 0.3, "input_size": [511, 511],
         "output_sizes": [[64, 64]], "test_scales": [1], "top_k": 20, "num_dets": 100, "categories": 80,
         "test_flipped": false, "ae_threshold": 0.5, "nms_threshold": 0.5}
})";

std::string refusal(const std::filesystem::path& file) {
  try {
    import_cornernet_json(file);
  } catch (const UserError& error) {
    CHECK(error.code() == Exit::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a configuration of CornerNet-Lite becomes one of ours") {
  const TempFolder folder;
  folder.write("CornerNet_Squeeze.json", squeeze);
  const auto toml = import_cornernet_json(folder.path() / "CornerNet_Squeeze.json");
  CHECK(toml.find("#     chunk_sizes = [13,14,14,14]") != std::string::npos);
  folder.write("imported.toml", toml);
  const auto config = load_config(folder.path() / "imported.toml");
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
  const TempFolder folder;
  folder.write("CornerNet_Saccade-test.json",
               R"({"system": {"sampling_function": "cornernet_saccade", "opt_algo": "sgd"},
    "db": {"att_scales": [[1, 2, 4]], "att_thresholds": [0.3], "att_ranges": [[96, 256], [32, 96], [0, 32]]}})");
  folder.write("imported.toml", import_cornernet_json(folder.path() / "CornerNet_Saccade-test.json"));
  const auto config = load_config(folder.path() / "imported.toml");
  CHECK(config.table("net").text("name") == "cornernet_saccade");
  CHECK(config.list("optim")[0].real("momentum") == 0.9);
  CHECK(config.table("sampler").real("gaussian_iou") == 0.7);
  CHECK(config.table("detect").reals("att_scales") == std::vector<double>{1, 2, 4});
  CHECK(config.table("detect").real("att_threshold") == 0.3);
  CHECK(config.table("sampler").integers("att_ranges") == std::vector<std::int64_t>{96, 256, 32, 96, 0, 32});
}

TEST_CASE("files that are no such configuration") {
  const TempFolder folder;
  folder.write("CornerNet.json", "[1]");
  CHECK(refusal(folder.path() / "CornerNet.json").ends_with("CornerNet.json: not a configuration of CornerNet-Lite"));
  folder.write("YOLO.json", R"({"system": {}, "db": {}})");
  CHECK(refusal(folder.path() / "YOLO.json").ends_with("YOLO.json: its name is not that of a net"));
  CHECK(refusal(folder.path() / "none.json").ends_with("none.json: cannot be read"));
}
