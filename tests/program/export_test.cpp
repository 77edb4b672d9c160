// A trained net for other programs, and the mean of several snapshots.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "pipeline/base/snapshot/safetensors.h"
#include "tests/program/detector.h"
#include "tests/program/refusals.h"
#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::export_test {
namespace {

namespace fs = std::filesystem;

const Words short_run{"--set", "run.max_iter=6",     "--set", "snapshot.every=2", "--set",  "val.every=3",
                      "--set", "data.val_samples=5", "--set", "loader.batch=4",   "--quiet"};

struct BuiltIn {
  std::string name;
  Words words;
  std::string config = tiny_config;
};

std::string gan_config() {
  std::string text = tiny_config;
  const auto begin = text.find("[net]");
  return text.replace(begin, text.find("[val]") - begin, R"([net]
name = "gan"
[step]
name = "gan"
[[optim]]
label = "discriminator"
name = "adam"
params = '^discriminator\.'
losses = ["discriminator"]
[[optim]]
label = "generator"
name = "adam"
params = '^generator\.'
losses = ["generator"]
)");
}

const Words small{"--set", "data.size=32", "--set", "optim.lr=0.001"};

/// Each built-in net, small.
const std::vector<BuiltIn> built_in_nets{
    {"lenet", {}},
    {"mlp", {"--set", "net.hidden=[32]"}},
    {"resnet18", small},
    {"resnet34", small},
    {"resnet50", small},
    {"resnet101", small},
    {"gan", {"--set", "val.metrics=[]"}, gan_config()},
};

/// A run of it, in a folder of its name.
void train_net(const TempRun& place, const BuiltIn& net) {
  const std::string file = net.name + ".toml";
  place.folder().write(file, net.config);
  const Words own{file, "--set", "net.name=" + net.name, "--run-dir", net.name};
  REQUIRE_EXIT(place.run(with(with(own, short_run), net.words)), 0);
}

std::map<std::string, std::vector<float>> weights_of(const fs::path& path) {
  std::map<std::string, std::vector<float>> all;
  const SafetensorsFile file(path);
  for (auto& tensor : file.tensors()) {
    if (tensor.dtype != "F32") continue;
    auto& values = all[tensor.name];
    values.resize(tensor.bytes / sizeof(float));
    std::memcpy(values.data(), tensor.data, tensor.bytes);
  }
  return all;
}

ProcessOptions with_packages(const TempRun& place) {
  auto options = place.process_options();
  if (const char* folder = std::getenv("FLOWTRAIN_TEST_PYTHONPATH")) options.environment = {{"PYTHONPATH", folder}};
  return options;
}

}  // namespace

TEST_CASE("TorchScript of a net gives what the net gives, bit for bit") {
  const TempRun place;
  REQUIRE_EXIT(place.train(with(short_run, {"--set", "net.name=lenet", "--run-dir", "run"})), 0);
  const auto exported = place.run({"export", "run", "--out", "net.pt"});
  REQUIRE_EXIT(exported, 0);
  CHECK_SAYS(exported, "TorchScript of lenet: the greatest difference from the net on 4 samples is 0\n");
  CHECK(fs::file_size(place.path("net.pt")) > 10000);

  check_refused(place.run({"export", "run", "--out", "net.bin"}), 2, {"net.bin", "--format"});
  check_refused(place.run({"export", "run", "--out", "net.onnx", "--python", "no-such-python"}), 2,
                {"no-such-python", "torch"});
  CHECK_FALSE(fs::exists(place.path("net.onnx")));
  check_refused(place.run({"export", "none", "--out", "net.pt"}), 4, {"none: no such folder"});
  REQUIRE_EXIT(place.run({"export", "run", "--out", "net.safetensors", "--iter", "4"}), 0);
}

TEST_CASE("the mean of snapshots: weights, statistics taken anew, and what is refused") {
  const TempRun place;
  REQUIRE_EXIT(place.train(with(short_run, {"--set", "net.name=resnet18", "--run-dir", "run"})), 0);
  const auto snapshot = [](int iteration) { return "run/snapshots/iter-0000000" + std::to_string(iteration); };
  const Words average{"snapshot", "average", snapshot(2), snapshot(4), "run/snapshots/latest"};
  REQUIRE_EXIT(place.run(with(average, {"--out", "mean", "--keep-statistics"})), 0);
  REQUIRE_EXIT(place.run(with(average, {"--out", "swa", "--batches", "8"})), 0);
  REQUIRE_EXIT(place.run(with(average, {"--out", "again", "--batches", "8"})), 0);

  std::map<std::string, std::vector<float>> of[3];
  for (int i = 0; i < 3; ++i) of[i] = weights_of(place.path(snapshot(2 * i + 2) + "/model.safetensors"));
  const auto mean = weights_of(place.path("mean/snapshots/iter-00000006/model.safetensors"));
  const auto swa = weights_of(place.path("swa/snapshots/iter-00000006/model.safetensors"));
  REQUIRE(mean.size() == of[0].size());
  for (auto& [name, values] : mean) {
    CAPTURE(name);
    bool is_mean = true;
    for (std::size_t i = 0; i < values.size(); ++i)
      is_mean = is_mean && values[i] == static_cast<float>(
                                            (double{of[0].at(name)[i]} + of[1].at(name)[i] + of[2].at(name)[i]) / 3);
    CHECK(is_mean);
    CHECK((swa.at(name) == values) == (name.find("running_") == std::string::npos));
  }
  const auto same = place.run({"snapshot", "diff", "swa", "again"});
  CHECK_EXIT(same, 0);

  // A whole run's folder: it is tested, exported, and trained on.
  REQUIRE_EXIT(place.run({"test", "swa"}), 0);
  REQUIRE_EXIT(place.run({"export", "swa", "--out", "swa.safetensors"}), 0);
  const Words further{"swa", "--set", "run.max_iter=8", "--quiet"};
  check_refused(place.run(further), 4, {"was made without", "optim"});
  REQUIRE_EXIT(place.run(with(further, {"--accept-changes"})), 0);

  check_refused(place.run(with(average, {"--out", "mean"})), 2, {"already holds a run"});
  REQUIRE_EXIT(place.train(with(short_run, {"--set", "net.name=lenet", "--run-dir", "other"})), 0);
  check_refused(place.run({"snapshot", "average", "run", "other", "--out", "mixed"}), 4,
                {"only weights of the same net"});
  CHECK_FALSE(fs::exists(place.path("mixed")));
}

TEST_CASE("Python loads the TorchScript of each built-in net, which gives the same there") {
  SKIP_UNLESS(test::python_has("torch"), "python-torch", "python3 has no torch (FLOWTRAIN_TEST_PYTHONPATH)");
  const TempRun place;
  for (auto& net : built_in_nets) {
    const std::string& name = net.name;
    CAPTURE(name);
    train_net(place, net);
    const auto exported =
        run_program({"export", name, "--out", name + ".pt", "--python", "python3"}, with_packages(place));
    REQUIRE_EXIT(exported, 0);
    CHECK_SAYS(exported, "the greatest difference from the net on 4 samples is 0\n");
    CHECK_PRINTS(exported, "torchscript in Python: greatest difference to the net on 4 samples: 0\n");
  }
}

TEST_CASE("TorchScript of a detector: torch's operations in the place of the kernels of corner pooling") {
  const TempRun place(detector);
  const bool has_torch = test::python_has("torch");
  for (const std::string name : {"cornernet", "cornernet_squeeze", "cornernet_saccade"}) {
    Words words{"--set", "net.name=" + name, "--run-dir", name, "--quiet"};
    if (name != "cornernet_squeeze")
      words = with(words, {"--set", "net.widths=[16, 16, 16, 16]", "--set", "net.blocks=[1, 1, 1, 1]"});
    REQUIRE_EXIT(place.train(words), 0);
    Words words_of_export{"export", name, "--out", name + ".pt"};
    if (has_torch) words_of_export = with(words_of_export, {"--python", "python3"});
    const auto exported = run_program(words_of_export, with_packages(place));
    REQUIRE_EXIT(exported, 0);
    CHECK_SAYS(exported, "TorchScript of " + name + ": the greatest difference from the net on 4 samples is 0\n");
    if (has_torch) CHECK_PRINTS(exported, "torchscript in Python: greatest difference to the net on 4 samples: 0\n");
  }
}

TEST_CASE("ONNX through Python gives the same within 1e-4") {
  SKIP_UNLESS(test::python_has("torch, onnx, onnxruntime"), "python-onnxruntime",
              "python3 has no torch, onnx and onnxruntime (FLOWTRAIN_TEST_PYTHONPATH)");
  const TempRun place;
  for (auto& net : built_in_nets) {
    const std::string& name = net.name;
    CAPTURE(name);
    train_net(place, net);
    const auto exported = run_program({"export", name, "--out", name + ".onnx"}, with_packages(place));
    REQUIRE_EXIT(exported, 0);
    CHECK_PRINTS(exported, "onnx in Python: greatest difference to the net on 4 samples: ");
    CHECK(fs::exists(place.path(name + ".onnx")));
  }
}

TEST_CASE("AOTInductor through Python gives the same within 1e-4") {
  SKIP_UNLESS(test::python_has("torch"), "python-torch", "python3 has no torch (FLOWTRAIN_TEST_PYTHONPATH)");
  const TempRun place;
  REQUIRE_EXIT(place.train(with(short_run, {"--set", "net.name=lenet", "--run-dir", "run"})), 0);
  const auto exported = run_program({"export", "run", "--out", "net.pt2"}, with_packages(place));
  REQUIRE_EXIT(exported, 0);
  CHECK_PRINTS(exported, "aoti in Python: greatest difference to the net on 4 samples: ");
  CHECK(fs::exists(place.path("net.pt2")));
}

}  // namespace flowtrain::export_test
