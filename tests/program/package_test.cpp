// A net that comes as a package, from its file to its snapshots.

#include <doctest/doctest.h>

#include <cmath>

#include "sampling/codecs/encode.h"
#include "tests/program/detector.h"
#include "tests/program/killed.h"
#include "tests/program/language_model.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"
#include "tests/program/refusals.h"
#include "tests/support/packages.h"

namespace flowtrain::package_test {
namespace {

/// A folder with net.pt2, `package` of made_packages(), and a configuration that trains it.
class PackageRun : public TempRun {
 public:
  explicit PackageRun(const std::filesystem::path& package, const std::string& more = {})
      : TempRun(with_package() + more), package_(package) {
    std::filesystem::copy_file(package, path("net.pt2"));
  }

  /// Another net.pt2, changed as edit_package.py says.
  void edit(Words edits) const {
    std::filesystem::remove(path("net.pt2"));
    edits.insert(edits.begin(), {package_.string(), path("net.pt2").string()});
    if (run_python("edit_package.py", edits) != 0) throw std::runtime_error("edit_package.py failed");
  }

 private:
  static std::string with_package() {
    std::string text = tiny_config;
    const std::string net = "name = \"mlp\"\nhidden = [32]\ndropout = 0.3\n";
    return text.replace(text.find(net), net.size(), "package = \"net.pt2\"\n");
  }

  const std::filesystem::path package_;
};

/// A folder with net.pt2, a package of texts, and a table of 200 texts of 1 to 80 bytes, of which tiny.toml makes
/// batches.
class TextRun : public TempRun {
 public:
  explicit TextRun(const std::filesystem::path& package, const std::string& loader = "budget = 400")
      : TempRun(config + loader + "\n") {
    std::filesystem::copy_file(package, path("net.pt2"));
    std::string table;
    for (int row = 0; row < 200; ++row) {
      std::string text;
      for (int i = 0; i <= row * 37 % 80; ++i) text += static_cast<char>('a' + (row + i) % 26);
      table += "{\"text\": \"" + text + "\"}\n";
    }
    folder().write("texts.jsonl", table);
  }

 private:
  static inline const std::string config = R"(name = "tiny"
[run]
max_iter = 40
threads = 1
[data]
dataset = "manifest"
path = "texts.jsonl"
val_share = 0.1
[[field]]
name = "text"
from = "text"
as = "bytes"
max = 64
[net]
package = "net.pt2"
[optim]
lr = 0.5
[val]
every = 20
metrics = []
[snapshot]
every = 7
keep_last = 4
[display]
every = 5
[loader]
)";
};

/// No run was begun, and `outcome` says `texts`.
void check_not_begun(const TempRun& place, const Outcome& outcome, const Words& texts) {
  check_refused(outcome, 2, texts);
  CHECK(!fs::exists(place.path("runs/tiny")));
}

}  // namespace

TEST_CASE("a package trains, is killed and resumed, validated, tested, and its weights go out and in") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "full.pt2");
  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  CHECK(end_of_killed(place, {}, {15, 35}) == end_of(place.path("whole")));

  const auto train = metrics_of(place.path("whole"), "train"), val = metrics_of(place.path("whole"), "val");
  CHECK(train.back().at("loss").get<double>() < train.front().at("loss").get<double>());
  CHECK(train.front().at("hits").get<double>() <= 1);
  CHECK(val.back().at("accuracy").is_number());
  const auto tested = place.run({"test", "whole", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss") == val.back().at("loss"));
  REQUIRE_EXIT(place.run({"test", "whole", "--iter", "60", "--set", "val.flip=true"}), 0);
  const auto info = place.run({"info", "tiny.toml"});
  CHECK_PRINTS(info, "net.pt2: 2,040 parameters in 9 tensors, 8.16 kB; 6 frozen");
  CHECK_PRINTS(info, "kinds and output shapes are not known: the graph of net.package is compiled into one operation");
  REQUIRE_EXIT(place.run({"plan", "tiny.toml"}), 0);
  REQUIRE_EXIT(place.run({"replay", "whole", "--iter", "5", "--loss", "--out", "batch"}), 0);

  // Running statistics and the count of batches are state.
  const auto weights = place.path("weights.safetensors");
  REQUIRE_EXIT(place.run({"export", "whole", "--out", weights.string(), "--snapshot", "latest"}), 0);
  const SafetensorsFile file(weights);
  bool counted = false;
  for (auto& tensor : file.tensors())
    if (tensor.name == "norm.num_batches_tracked") {
      std::int64_t count = 0;
      std::memcpy(&count, tensor.data, sizeof count);
      CHECK(count == 60);
      counted = true;
    }
  CHECK(counted);
  const auto warm = place.train(
      {"--run-dir", "warm", "--initialize", "--set", "net.pretrain=" + weights.string(), "--set", "net.strict=true"});
  REQUIRE_EXIT(warm, 0);
  CHECK_SAYS(warm, "12 of 12 tensors");
}

TEST_CASE("a package's loss that counts is a mean over what counts, in parts and in several processes") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "counted.pt2");
  check_means_over_what_counts(place, {}, "hits");
}

TEST_CASE("a package that gives boxes, scores and labels has AP, a test, predictions and pictures") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const TempRun place(std::string(boxes_config) + "[net]\npackage = \"" + (*packages / "boxes.pt2").string() + "\"\n");
  check_detects(place);
  const PackageRun classifier(*packages / "plain.pt2");
  const auto refused = classifier.train({"--set", "val.metrics=[\"ap\"]"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "the detector 'boxes' reads boxes, scores, labels, and the net does not give 'boxes'");
}

TEST_CASE("a package with groups, frozen layers, averaged weights and a validation beside training") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "full.pt2",
                         "[ema]\ndecay = 0.9\n[[group]]\nparams = \"conv\"\nlr_mult = 0.1\n"
                         "[[group]]\nparams = \"norm\"\nfrozen = true\n");
  const Words words{"--set", "val.mode=async", "--set", "train.clip=1", "--set", "train.accum=2"};
  const auto whole = place.train(with(words, {"--run-dir", "whole"}));
  REQUIRE_EXIT(whole, 0);
  CHECK_SAYS(whole, "the running statistics of frozen layers stay as they are");
  CHECK(end_of_killed(place, words, {25}) == end_of(place.path("whole")));
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "begin", "--initialize"})), 0);
  const auto diff = place.run({"snapshot", "diff", "begin/snapshots/iter-00000000", "whole/snapshots/iter-00000060"});
  for (auto name : {"conv.weight", "fc.bias", "biases.1"}) CHECK_PRINTS(diff, name);
  CHECK(diff.out.find("norm.") == std::string::npos);
}

TEST_CASE("a package with bf16 parameters, and buffers in modules without parameters, trains and is resumed exactly") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "half.pt2", "[ema]\ndecay = 0.99\n");
  constexpr double limit_s = 120;  // a net that never starts is ended
  for (const std::string optimizer : {"sgd", "adamw"}) {
    Words words{"--set", "train.clip=1", "--set", "train.accum=2"};
    if (optimizer == "adamw") {
      std::string config = read_text(place.path("tiny.toml"));
      const std::string sgd = "lr = 0.05\nmomentum = 0.9\n";
      place.folder().write("tiny.toml", config.replace(config.find(sgd), sgd.size(), "name = \"adamw\"\nlr = 0.01\n"));
      words = with(words, {"--set", "val.mode=async"});
    }
    const std::string whole = "whole-" + optimizer;
    Process process(with({"tiny.toml", "--run-dir", whole}, words), place.process_options());
    REQUIRE_EXIT(process.wait(limit_s), 0);
    fs::remove_all(place.path("killed"));
    CHECK(end_of_killed(place, words, {25}) == end_of(place.path(whole)));
    const auto train = metrics_of(place.path(whole), "train");
    CHECK(train.back().at("loss").get<double>() < 0.9 * train.front().at("loss").get<double>());

    const std::string begin = "begin-" + optimizer;
    REQUIRE_EXIT(place.train(with(words, {"--run-dir", begin, "--initialize"})), 0);
    const auto diff =
        place.run({"snapshot", "diff", begin + "/snapshots/iter-00000000", whole + "/snapshots/iter-00000060"});
    for (auto name : {"body.0.weight", "body.0.bias", "body.2.weight", "body.2.bias", "scale.0", "seen",
                      "norm.running_mean", "norm.num_batches_tracked"})
      CHECK_PRINTS(diff, name);
    for (const std::string average : {"true", "false"})
      REQUIRE_EXIT(place.run({"test", whole, "--iter", "60", "--set", "ema.validate=" + average}), 0);
  }
}

TEST_CASE("a package in one process and in two learns the same") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "plain.pt2");
  for (const std::string world : {"1", "2"}) {
    Words words{"--run-dir", "world" + world};
    if (world != "1") words = with(words, {"--distributed", "--world-size", world});
    REQUIRE_EXIT(place.train(words), 0);
  }
  CHECK(difference(place, "world1", "world2") < 1e-5);
}

TEST_CASE(
    "a package takes rows of any length, is killed and resumed, averaged, tested, and learns so in two processes") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const TextRun place(*packages / "texts.pt2");
  const Words parts{"--set", "train.accum=2", "--set", "ema.decay=0.9", "--set", "val.mode=async"};
  for (const Words& words : {Words{}, parts}) {
    for (const std::string run : {"whole", "killed", "two"}) fs::remove_all(place.path(run));
    REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, words)), 0);
    CHECK(end_of_killed(place, words, {10, 25}) == end_of(place.path("whole")));
    REQUIRE_EXIT(place.train(with({"--run-dir", "two", "--distributed", "--world-size", "2"}, words)), 0);
    CHECK(difference(place, "whole", "two") < 1e-5);
  }
  const auto train = metrics_of(place.path("whole"), "train"), val = metrics_of(place.path("whole"), "val");
  CHECK(train.back().at("loss").get<double>() < 0.9 * train.front().at("loss").get<double>());
  CHECK(train.back().at("hits").get<double>() > train.front().at("hits").get<double>());
  const auto tested = place.run({"test", "whole", "--iter", "40"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss") == val.back().at("loss"));
  REQUIRE_EXIT(place.run({"replay", "whole", "--iter", "5", "--loss", "--out", "batch"}), 0);
  CHECK_PRINTS(place.run({"plan", "tiny.toml"}), "net.pt2: 8,448 parameters");
  CHECK_PRINTS(place.run({"info", "tiny.toml"}), "kinds and output shapes are not known");
  REQUIRE_EXIT(place.train({"--dry-run"}), 0);

  const TextRun padded(*packages / "texts.pt2", "batch = 8");
  REQUIRE_EXIT(padded.train({"--run-dir", "whole"}), 0);
  REQUIRE_EXIT(padded.train({"--run-dir", "auto", "--set", "loader.batch=auto", "--max-iter", "2"}), 0);
}

TEST_CASE("a package of a language model continues texts as the built-in net with its weights does") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const LanguageRun place;
  const std::string net =
      "name = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\ndropout = 0.1\n[loss]\nignore_index = -100\n";
  std::string config = language_config;
  config.replace(config.find(net), net.size(), "package = \"" + (*packages / "gpt.pt2").string() + "\"\n");
  place.folder().write("package.toml", config);
  REQUIRE_EXIT(place.run({"package.toml", "--run-dir", "package", "--max-iter", "150"}), 0);
  const auto weights = place.path("weights.safetensors").string();
  REQUIRE_EXIT(place.run({"export", "package", "--out", weights, "--snapshot", "latest"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "built-in", "--initialize", "--set", "net.pretrain=" + weights, "--set",
                            "net.strict=true"}),
               0);
  const auto said = [&](const std::string& run) {
    const auto outcome = place.run({"generate", run, "--snapshot", "latest", "--prompt", "the quick", "--prompt", "fox",
                                    "--prompt", "over 1", "--max-tokens", "60"});
    REQUIRE_EXIT(outcome, 0);
    return outcome.out;
  };
  const auto text = said("package");
  CHECK(text.find("the quick brown") == 0);
  CHECK(text == said("built-in"));
}

TEST_CASE("fields whose free axes a package does not take, and rows without pictures for a built-in net, are refused") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const TextRun place(*packages / "texts.pt2");
  const auto edit = [&](const Words& edits) {
    fs::remove(place.path("net.pt2"));
    const Words files{(*packages / "texts.pt2").string(), place.path("net.pt2").string()};
    REQUIRE(run_python("edit_package.py", with(files, edits)) == 0);
  };
  check_not_begun(place, place.train({"--set", "field.0.max=100"}),
                  {"'text' of the batch has up to 100 along axis 1, but the graph takes 1 to 64",
                   "lower the field's bound to 64, or export the package in Python: flowtrain.export(…, "
                   "free={\"text\": {1: 100}})"});
  edit({"inputs.0.free=", "inputs.0.shape=[-1,64]"});
  check_not_begun(place, place.train(),
                  {"'text' of the batch has up to 64 along axis 1, but the graph takes 64 alone"});
  edit({"inputs.0.free.0.axis=2"});
  check_not_begun(place, place.train(), {"a free axis of the input 'text' is out of range"});
  edit({"inputs.0.free.0.least=65", "inputs.0.free.0.most=70"});
  check_not_begun(place, place.train(),
                  {"has up to 64 along axis 1, but the graph takes 65 to 70", "let the loss pad"});

  std::string config = read_text(place.path("tiny.toml"));
  const std::string package = "package = \"net.pt2\"";
  place.folder().write("tiny.toml", config.replace(config.find(package), package.size(), "name = \"mlp\""));
  check_not_begun(place, place.train(),
                  {"net mlp: takes pictures, but the rows have no field `image` of them: text u8 ≤64", "net.package"});
  CHECK_EXIT(place.run({"info", "tiny.toml"}), 2);
  CHECK_PRINTS(place.run({"plan", "tiny.toml"}), "net         none: net mlp: takes pictures, but the rows have no");
}

TEST_CASE(
    "a package with two losses has an optimizer for each, is killed and resumed, and learns so in two processes") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "two.pt2");
  check_not_begun(place, place.train(), {"optim.losses: no optimizer lowers 'critic'", "the step has: head, critic"});
  std::string both = read_text(place.path("tiny.toml"));
  const std::string one = "[optim]\nlr = 0.05\nmomentum = 0.9\n";
  both.replace(both.find(one), one.size(), R"([[optim]]
label = "head"
lr = 0.05
momentum = 0.9
params = "^head"
losses = ["head"]
[[optim]]
label = "critic"
name = "adam"
lr = 1e-3
params = "^critic"
losses = ["critic"]
every = 2
)");
  place.folder().write("tiny.toml", both);

  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  CHECK(end_of_killed(place, {}, {15, 35}) == end_of(place.path("whole")));
  const auto train = metrics_of(place.path("whole"), "train"), val = metrics_of(place.path("whole"), "val");
  CHECK(train.back().at("loss.head").get<double>() < train.front().at("loss.head").get<double>());
  CHECK(train.front().at("gap").is_null());  // of iteration 5, when the critic rests
  CHECK(train.back().at("gap").is_number());
  CHECK(val.back().at("loss").is_number());
  REQUIRE_EXIT(place.train({"--run-dir", "two", "--distributed", "--world-size", "2"}), 0);
  CHECK(difference(place, "whole", "two") < 1e-5);
}

TEST_CASE("no Python library is in a process that trains a package") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "full.pt2");
  const auto run = place.path("run");
  Process process({"tiny.toml", "--run-dir", run.string(), "--max-iter", "100000"}, place.process_options());
  REQUIRE(process.wait_for_text("\"iter\":10,", run / "metrics.jsonl"));
  const std::string maps = read_text("/proc/" + std::to_string(process.id()) + "/maps");
  CHECK(times_in(maps, "wrapper.so") > 0);  // the compiled graphs
  CHECK(times_in(maps, "libpython") == 0);
  CHECK(times_in(maps, "torch_python") == 0);
  process.send(SIGKILL);
}

TEST_CASE("a package that does not fit is one line, before anything starts") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "full.pt2");
  const auto refused = [&](const Words& edits, const Words& texts, const Words& words = {}) {
    place.edit(edits);
    check_not_begun(place, place.train(words), texts);
  };
  const std::string anew = "make it anew: python -m flowtrain export full.pt2 -o full.pt2";
  refused({"version=1"},
          {"tiny.toml:14:1: net.package: package net.pt2: it has version 1, but this flowtrain reads versions 4 to 5"});
  refused({"torch=\"2.10.0\""}, {"it was compiled by torch 2.10.0, but this is LibTorch", anew});
  refused({"instruction_set=\"AVX1024\""}, {"its code needs a CPU with AVX1024, but this one has", anew});
  refused({"device=\"cuda\""}, {"it was compiled for cuda, but the net runs on cpu", anew});
  refused({"amp=\"bf16\""}, {"its graph computes with amp \"bf16\", but train.amp is \"off\""});
  refused({"inputs.1.field=\"target\""}, {"the batch has no 'target', which the graph takes; it has: image, label"});
  refused({"inputs.1.dtype=\"int32\""}, {"'label' of the batch is int64, but the graph takes int32"});
  refused({"inputs.0.shape=[-1,3,32,32]"},
          {"'image' of the batch has shape [16, 3, 16, 16], but the graph takes [any, 3, 32, 32]"});
  refused({"inputs.0.values=[{\"least\":0,\"end\":9,\"ignored\":null,\"part\":[[3,0,17]]}]"},
          {"a part of the input 'image' is out of range"});
  refused({"inputs.0.shape=[8,3,16,16]"}, {"has shape [16, 3, 16, 16], but the graph takes [8, 3, 16, 16]"});
  refused({"command="}, {"its flowtrain.json is damaged", "'command'"});
  refused({"train.0.outputs.0.kind=\"metric\""}, {"the graph 'train_loss' has 0 outputs of kind 'loss', expected 1"});
  refused({"eval.outputs.0.name=\"other\""}, {"the evaluation graph does not give the loss 'loss'"});
  refused({"train=[]"}, {"it has no training graph"});
  refused({"train.0.parameters.0=\"gone\"", "train.0.outputs.2.of=\"gone\""}, {"lacks the tensor 'gone'"});
  refused({"-extra/"}, {"it has no extra/flowtrain.json"});
  refused({"-data/aotinductor/eval/"}, {"it has no compiled graph 'eval'"});
  refused({"inputs.1.values.0.end=5"}, {"its net has 5 classes, but the data set has 6"});
  refused({}, {"loss.name: net.package is given too (tiny.toml:14:1)"}, {"--set", "loss.name=mse"});
  refused({}, {"optim.losses: the step has no loss 'critic'", "known: loss"}, {"--set", "optim.losses=[\"critic\"]"});
  refused({}, {"val.amp is \"bf16\": remove val.amp"}, {"--set", "val.amp=bf16"});
  refused({}, {"[batch_augment] mixes labels"}, {"--set", "batch_augment.mixup=0.2"});
  refused({}, {"net.package: package other.pt2: no such file"}, {"--set", "net.package=other.pt2"});
}

TEST_CASE("a damaged package is one line, before anything starts") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "plain.pt2");
  const std::string whole = read_text(place.path("net.pt2"));
  const auto refused = [&](const std::string& content) {
    place.folder().write("net.pt2", content);
    check_not_begun(place, place.train(), {"net.package: package net.pt2: the file is damaged"});
  };
  refused(whole.substr(0, whole.size() / 2));
  refused("");
  refused("not a package");
  for (const std::string part : {"\"version\"", "\177ELF", "data_offsets"}) {
    const auto at = whole.find(part);
    REQUIRE(at != std::string::npos);
    std::string damaged = whole;
    damaged[at + 3] ^= 1;
    refused(damaged);
  }
}

TEST_CASE("a package for one number of rows trains with such batches, and is not begun with others") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "fixed.pt2");
  const std::string message = "its graphs take batches of exactly 16 rows, but the last batch of ";
  check_not_begun(place, place.train({"--set", "data.val_samples=40"}), {message});
  check_not_begun(place, place.train({"--set", "loader.last_batch=pad", "--set", "data.val_samples=48"}), {message});
  REQUIRE_EXIT(place.train({"--set", "data.val_samples=48", "--run-dir", "whole"}), 0);
  // A prediction fills up its last batch.
  for (int number = 0; number < 3; ++number)
    place.folder().write("pictures/" + std::to_string(number) + ".png",
                         text_of(encode_png(noise_picture(16, 16, 3).view())));
  const auto predicted = place.run({"predict", "whole", "pictures", "--jsonl"});
  REQUIRE_EXIT(predicted, 0);
  CHECK(times_in(predicted.out, ".png") == 3);
}

TEST_CASE("a search for NaN in a package names the graph, and what the compiled graph cannot tell is said") {
  const auto packages = made_packages(FLOWTRAIN_TORCH_VERSION);
  SKIP_UNLESS(packages, "python-torch-export", no_packages);
  const PackageRun place(*packages / "plain.pt2");
  const Words wild{"--set", "optim.lr=1e30", "--set", "optim.momentum=0"};
  CHECK_EXIT(place.train(with(wild, {"--run-dir", "wild"})), 5);
  const auto search = place.run({"replay", "wild", "--find-nan"});
  CHECK_PRINTS(search, "the training graph of ");
  const auto profiled = place.train({"--run-dir", "profiled", "--max-iter", "12", "--profile"});
  REQUIRE_EXIT(profiled, 0);
  CHECK_SAYS(profiled, "the compiled graph of net.package is one operation, so there are no times of layers");
}

}  // namespace flowtrain::package_test
