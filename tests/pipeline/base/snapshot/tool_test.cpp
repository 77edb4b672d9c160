#include "pipeline/base/snapshot/tool.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <sstream>

#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "pipeline/base/snapshot/tensor_difference.h"
#include "sampling/core/error.h"
#include "tests/support/paths.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::tool_test {

using namespace flowtrain::test;

namespace {

/// A run with three snapshots.
struct Run {
  TempFolder folder;
  fs::path run = folder / "x";
  fs::path snapshots = run / "snapshots";
  std::ostringstream out;

  Run() {
    for (const auto iteration : {100, 200, 300}) save(snapshots, iteration);
    link_snapshot(snapshots, 100);
  }
  void damage(const fs::path& file) { flip(snapshots / file, fs::file_size(snapshots / file) - 1, 1); }
  /// What was printed since the last call.
  std::string printed() {
    auto text = out.str();
    out.str({});
    return text;
  }
};

}  // namespace

TEST_CASE("snapshot ls: one line each, from whichever place") {
  Run run;
  fs::remove(run.snapshots / "iter-00000200" / manifest_name);
  for (const auto& place : {run.run, run.run / "", run.snapshots, run.snapshots / "iter-00000100"}) {
    CHECK(snapshot_ls(place, run.out) == ExitCode::ok);
    const auto text = run.printed();
    CHECK(std::count(text.begin(), text.end(), '\n') == 4);
    CHECK(text.find("       300 ") < text.find("       200 "));
    CHECK(contains(text, "  complete  [latest]\n"));
    CHECK(contains(text, "not complete: "));
    CHECK(contains(text, "  complete  [best]\n"));
  }
  fs::create_directories(run.folder / "empty/snapshots");
  CHECK(snapshot_ls(run.folder / "empty", run.out) == ExitCode::ok);
  CHECK(contains(run.printed(), "no snapshots in "));
}

TEST_CASE("snapshot: places that are none are named") {
  Run run;
  CHECK(contains(message_of([&] { snapshot_ls(run.folder / "y", run.out); }), "/y: no such folder"));
  CHECK(contains(message_of([&] { snapshot_ls(run.folder.path(), run.out); }), ": neither a run nor a snapshot"));
  fs::create_directories(run.folder / "empty/snapshots");
  CHECK(contains(message_of([&] { snapshot_show(run.folder / "empty", {}, run.out); }), "no snapshot in "));
  CHECK(contains(message_of([&] { snapshot_verify(run.folder / "empty", run.out); }), "no snapshot in "));
  CHECK(contains(message_of([&] { snapshot_show(run.run, 500, run.out); }), "there are: 100, 200, 300"));
}

TEST_CASE("snapshot show: tensors and state of the newest good one, or of the one asked for") {
  Run run;
  CHECK(snapshot_show(run.run, {}, run.out) == ExitCode::ok);
  auto text = run.printed();
  CHECK(contains(text, "iter-00000300: iteration 300\nmodel: 2 tensors, 72 B\n"));
  CHECK(contains(text, "  conv.weight  F32   (3, 5)                60 B\n"));
  CHECK(contains(text, "  step                  I64   ()                    8 B\n"));
  CHECK(contains(text, "state:\n  epoch  300\n"));
  CHECK(snapshot_show(run.run, 200, run.out) == ExitCode::ok);
  CHECK(contains(run.printed(), "iteration 200"));
  CHECK(snapshot_show(run.snapshots / "best", {}, run.out) == ExitCode::ok);
  CHECK(contains(run.printed(), "iteration 100"));

  run.damage("iter-00000300/model.safetensors");
  CHECK(snapshot_show(run.run, {}, run.out) == ExitCode::ok);
  CHECK(contains(run.printed(), "iteration 200"));
  CHECK(contains(message_of([&] { snapshot_show(run.run, 300, run.out); }), "model.safetensors: damaged"));
}

TEST_CASE("snapshot verify: exit 4 and the damage by name") {
  Run run;
  CHECK(snapshot_verify(run.run, run.out) == ExitCode::ok);
  auto text = run.printed();
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(contains(text, "iter-00000100: good\n"));
  run.damage("iter-00000200/model.safetensors");
  CHECK(snapshot_verify(run.run, run.out) == ExitCode::snapshot);
  text = run.printed();
  CHECK(contains(text, "iter-00000300: good\n"));
  CHECK(contains(text, "iter-00000200: model.safetensors: tensor 'conv.bias' is damaged\n"));
  CHECK(snapshot_verify(run.snapshots / "iter-00000300/", run.out) == ExitCode::ok);
  CHECK(snapshot_verify(run.snapshots / "iter-00000200", run.out) == ExitCode::snapshot);
}

TEST_CASE("export of weights: a weights file, never half of one") {
  Run run;
  const auto target = run.folder / "weights.safetensors";
  put(target, "old");
  export_weights(snapshot_of(run.run, {.iteration = 100}), false, target, run.out);
  CHECK(contains(run.printed(), "weights.safetensors: 2 tensors of iteration 100, "));
  CHECK(get(target) == get(run.snapshots / "iter-00000100/model.safetensors"));
  CHECK(contains(message_of([&] { export_weights(snapshot_of(run.run, {}), false, run.folder / "none/w", run.out); }),
                 ": open: No such file or directory"));
  run.damage("iter-00000200/model.safetensors");
  CHECK(contains(message_of([&] { export_weights(snapshot_of(run.run, {.iteration = 200}), false, target, run.out); }),
                 "model.safetensors: damaged"));
  CHECK(get(target) == get(run.snapshots / "iter-00000100/model.safetensors"));
  CHECK(names(run.folder.path()) == "weights.safetensors x");
}

TEST_CASE("export of weights: the best one, or the newest where none is the best, unless another one is wished for") {
  Run run;
  const auto target = run.folder / "weights.safetensors";
  const auto takes = [&](const SnapshotWish& wish) {
    run.printed();
    export_weights(snapshot_of(run.run, wish), false, target, run.out);
    const auto text = run.printed();
    return text.substr(text.find("iteration "), text.find(", ", text.find("iteration ")) - text.find("iteration "));
  };
  fs::remove(run.snapshots / "best");
  CHECK(takes({}) == "iteration 300 (the newest)");
  fs::create_symlink("iter-00000200", run.snapshots / "best");
  CHECK(takes({}) == "iteration 200 (the best)");
  CHECK(takes({.snapshot = "latest"}) == "iteration 300");
  CHECK(takes({.snapshot = "iter-00000100"}) == "iteration 100");
  CHECK(takes({.snapshot = run.snapshots / "iter-00000100"}) == "iteration 100");
  CHECK(takes({.iteration = 100}) == "iteration 100");
}

TEST_CASE("a name that no snapshot has is refused with those that are there") {
  Run run;
  fs::remove(run.snapshots / "best");
  const auto refusal = [&](const char* name) {
    return message_of([&] { choose_snapshot(run.snapshots, {.snapshot = name}); });
  };
  CHECK(refusal("best") ==
        run.run.string() +
            " has no snapshot 'best' (none is ranked); there are: iter-00000100, iter-00000200, iter-00000300, latest");
  CHECK(contains(refusal("lates"), " has no snapshot 'lates'; there are: iter-00000100, "));
}

TEST_CASE("export of weights: the average of a snapshot that has one, and no other weights in its place") {
  Run run;
  const auto target = run.folder / "weights.safetensors";
  CHECK(contains(message_of([&] { export_weights(snapshot_of(run.run, {.iteration = 100}), true, target, run.out); }),
                 "the snapshot of iteration 100 holds no average of the weights"));
  CHECK_FALSE(fs::exists(target));

  SmallContent averaged(400);
  const Tensor average("ema.conv.weight", "F32", {3, 5}, 7);
  averaged.content.optim = {average.view};
  write_snapshot(run.snapshots, averaged.content);
  export_weights(snapshot_of(run.run, {.iteration = 400}), true, target, run.out);
  const SafetensorsFile written(target);
  REQUIRE(written.tensors().size() == 2);
  for (auto& tensor : written.tensors()) {
    const bool has_one = tensor.name == "conv.weight";
    const auto& from = has_one ? average.view : averaged.tensors[1].view;
    CHECK(tensor.bytes == from.bytes);
    CHECK(std::equal(tensor.data, tensor.data + tensor.bytes, from.data));
  }
}

TEST_CASE("snapshot convert: weights of torch.save, renamed, some left out") {
  Run run;
  const fs::path data = test::source_path("tests/pipeline/base/snapshot/data");
  const auto target = run.folder / "weights.safetensors";
  for (const char* file : {"zip.pth", "legacy.pth"}) {
    CHECK(snapshot_convert(data / file, "", Renaming({"^flag$"}, {"^weight -> fc.weight"}), target, run.out) ==
          ExitCode::ok);
    CHECK(contains(run.printed(), "weights.safetensors: 6 of 7 tensors of "));
    const SafetensorsFile converted(target);
    CHECK(converted.tensors().front().name == "fc.weight");
    CHECK(shape_text(converted.tensors().front().shape) == "(2, 3)");
  }
  CHECK(contains(message_of([&] { snapshot_convert(data / "README.md", "", Renaming({}, {}), target, run.out); }),
                 "README.md: "));
}

TEST_CASE("snapshot diff: same, other values, other shapes, other names") {
  Run run;
  CHECK(snapshot_diff(run.run, run.snapshots / "iter-00000300", run.out) == ExitCode::ok);
  CHECK(run.printed() == "the same: 2 tensors of the model, 2 of the optimizer\n");
  CHECK(snapshot_diff(run.snapshots / "best", run.run, run.out) == ExitCode::snapshot);
  auto text = run.printed();
  CHECK(contains(text, "model: conv.weight: 15 of 15 values differ, by "));
  CHECK(contains(text, "optim: step: 1 of 1 values differ, by "));
  CHECK(contains(text, "state.json differs"));

  SmallContent other(300, 6);
  other.content.model[1].name = "renamed";
  write_snapshot(run.folder / "y/snapshots", other.content);
  CHECK(snapshot_diff(run.run, run.folder / "y", run.out) == ExitCode::snapshot);
  text = run.printed();
  CHECK(contains(text, "model: conv.weight: F32 (3, 5) and F32 (3, 6)\n"));
  CHECK(contains(text, "model: conv.bias: only in the first\n"));
  CHECK(contains(text, "model: renamed: only in the second\n"));
}

TEST_CASE("snapshot diff: amounts of each type of numbers") {
  const auto difference = [](const char* dtype, auto one, auto other) {
    const auto view = [&](const auto& values) {
      TensorView tensor;
      tensor.dtype = dtype;
      tensor.data = reinterpret_cast<const std::byte*>(values.data());
      tensor.bytes = sizeof values;
      return tensor;
    };
    return difference_of(view(one), view(other));
  };
  const auto floats = difference("F32", std::array{1.0F, -2.0F, 3.0F}, std::array{1.0F, -2.5F, 3.25F});
  CHECK(floats.values == 2);
  CHECK(floats.of == 3);
  CHECK(floats.largest == 0.5);
  CHECK(floats.largest_value == 3.25);
  using Bits = std::array<std::uint16_t, 2>;
  CHECK(difference("BF16", Bits{0x3F80, 0}, Bits{0xBF80, 0}).largest == 2);               // 1, -1
  CHECK(difference("F16", Bits{0x3C00, 0x0001}, Bits{0x4000, 0x0002}).largest == 1);      // 1, 2
  CHECK(difference("F16", Bits{0, 0x0001}, Bits{0, 0}).largest == std::ldexp(1.0, -24));  // the smallest one
  CHECK(std::isnan(difference("F32", std::array{NAN, 1.0F}, std::array{0.0F, 9.0F}).largest));
  CHECK(std::isnan(difference("F32", std::array{1.0F, NAN}, std::array{9.0F, 0.0F}).largest));
  CHECK(difference("F32", std::array{NAN}, std::array{NAN}).values == 0);
  CHECK(difference("I64", std::array<std::int64_t, 1>{-5}, std::array<std::int64_t, 1>{7}).largest == 12);
  CHECK(difference("BOOL", std::array<std::uint8_t, 2>{0, 1}, std::array<std::uint8_t, 2>{1, 1}).values == 1);
}

}  // namespace flowtrain::tool_test
