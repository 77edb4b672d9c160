// [resume] chooses the parts of a snapshot that a run continues with.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "pipeline/base/snapshot/safetensors.h"
#include "tests/support/temp_run.h"

namespace flowtrain::resume_parts_test {
namespace {

/// What a run of 31 iterations with `before` that goes on to 60 with `after` ends with.
std::string resumed(const Words& before, const Words& after, const std::string& more = "") {
  const TempRun place(std::string(tiny_config) + more);
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "31"}, before)), 0);
  REQUIRE_EXIT(place.train(with(with({"--run-dir", "run", "--resume", "auto", "--max-iter", "60"}, before), after)), 0);
  return metrics_of(place.path("run"), "end").back().at("params_xxh64");
}

/// Of the run in `run`, to `copy`.
void copy_run(const TempRun& place) {
  using Options = std::filesystem::copy_options;
  std::filesystem::copy(place.path("run"), place.path("copy"), Options::recursive | Options::copy_symlinks);
}

}  // namespace

TEST_CASE("an optimizer may begin anew where a run goes on") {
  const auto whole = resumed({}, {}), anew = resumed({}, {"--set", "resume.optim=false"});
  CHECK(anew != whole);
  // Without momentum there is nothing to forget.
  const Words plain{"--set", "optim.momentum=0"};
  CHECK(resumed(plain, {"--set", "resume.optim=false"}) == resumed(plain, {}));
}

TEST_CASE("half precision may be taken up or given up, when its scale is not to be resumed") {
  for (const auto& [before, after] : {std::pair{"off", "fp16"}, {"fp16", "off"}}) {
    const TempRun place;
    const auto amp = [](const char* type) { return Words{"--set", std::string("train.amp=") + type}; };
    REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "31"}, amp(before))), 0);
    const Words on = with({"--run-dir", "run", "--resume", "auto", "--max-iter", "60", "--accept-changes"}, amp(after));
    const auto refused = place.train(on);
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, "resume.scaler = false ignores it, or starts a new scale");
    REQUIRE_EXIT(place.train(with(on, {"--set", "resume.scaler=false"})), 0);
    CHECK(metrics_of(place.path("run"), "train").back().contains("loss_scale") == (std::string(after) == "fp16"));
  }
}

TEST_CASE("what hooks keep goes on with a run, or begins anew") {
  const std::string hook = "[[hook]]\nname = \"every_point\"\nlog = \"first\"\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  const auto calls_at = [](const std::filesystem::path& notes,
                           const std::string& point) {  // the call of that point, from 1
    std::ifstream file(notes);
    int count = 0;
    for (std::string line; std::getline(file, line);)
      if (++count; line.starts_with(point)) return count;
    return 0;
  };
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "31"}), 0);
  const int before = calls_at(place.path("first.0"), "snapshot_begin 31 ");
  REQUIRE(before > 0);
  copy_run(place);
  for (const auto& [run, hooks, kept] : {std::tuple{"run", "true", before}, {"copy", "false", 0}}) {
    CAPTURE(run);
    const std::string notes = std::string("notes-") + run;
    REQUIRE_EXIT(
        place.train({"--run-dir", run, "--resume", "auto", "--max-iter", "60", "--set",
                     std::string("resume.hooks=") + hooks, "--set", "hook.0.log=" + notes, "--accept-changes"}),
        0);
    const int now = calls_at(place.path(notes + ".0"), "iteration_end 60 ");
    REQUIRE(now > 0);
    const auto line = metrics_of(place.path(run), "train").back();
    REQUIRE(line.at("iter") == 60);
    CHECK(line.at("calls") == kept + now);
  }
}

TEST_CASE("the state of a hook that a run has not, and that of one which the snapshot has not, are warned of") {
  const std::string hook = "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "31"}), 0);
  copy_run(place);
  const Words on{"--resume", "auto", "--max-iter", "32", "--accept-changes"};
  const std::string gone = "warning: the snapshot has a state of the hook 'every_point', which this run does not have",
                    anew = "warning: the hook 'other' begins anew: the snapshot has no state of it";
  const auto as_before = place.train(with({"--run-dir", "run"}, on));
  REQUIRE_EXIT(as_before, 0);
  CHECK(as_before.err.find("the hook '") == std::string::npos);
  const auto renamed = place.train(with({"--run-dir", "run", "--set", "hook.0.label=other"}, on));
  REQUIRE_EXIT(renamed, 0);
  CHECK_SAYS(renamed, gone);
  CHECK_SAYS(renamed, anew);
  const auto unwanted =
      place.train(with({"--run-dir", "copy", "--set", "hook.0.label=other", "--set", "resume.hooks=false"}, on));
  REQUIRE_EXIT(unwanted, 0);
  CHECK(unwanted.err.find("the hook '") == std::string::npos);
}

namespace {

/// The bytes of a snapshot's tensors, by name: of the net, and behind "optim:" of the optimizers.
std::map<std::string, std::vector<float>> tensors_of(const TempRun& place, const std::string& snapshot) {
  std::map<std::string, std::vector<float>> tensors;
  for (auto& [file, prefix] : {std::pair{"model", ""}, {"optim", "optim:"}}) {
    const SafetensorsFile opened(place.path(snapshot + "/" + file + ".safetensors"));
    for (auto& tensor : opened.tensors()) {
      auto& values = tensors[prefix + tensor.name];
      values.resize(tensor.bytes / sizeof(float));
      std::memcpy(values.data(), tensor.data, tensor.bytes);
    }
  }
  return tensors;
}

/// With averages, and three layers of which two are alike; two more iterations of such a run change no weight.
const std::string alike = with_plugins({"every_point"}, R"(name = "tiny"
[run]
max_iter = 10
threads = 1
[data]
dataset = "shapes"
samples = 300
val_samples = 40
size = 16
[loader]
batch = 16
[net]
name = "mlp"
hidden = [12, 12, 12]
[optim]
lr = 0.05
momentum = 0.5
[ema]
decay = 0.9
[val]
every = 5
[[hook]]
name = "every_point"
log = "notes"
)");
const Words still{"--set", "optim.lr=0.0", "--set", "hook.0.gradient_factor=0.0", "--accept-changes"};

}  // namespace

TEST_CASE("a run may go on with tensors of other names, and renames them once") {
  const TempRun place(alike);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto before = tensors_of(place, "run/snapshots/iter-00000010");
  const Words swap{"--set",
                   R"(resume.rename=["^layers\\.1\\. -> x.", "^layers\\.2\\. -> layers.1.", "^x\\. -> layers.2."])"};
  const auto swapped =
      place.train(with({"--run-dir", "run", "--resume", "auto", "--max-iter", "11"}, with(swap, still)));
  REQUIRE_EXIT(swapped, 0);
  CHECK_SAYS(swapped, "none of them counts as the best any more");
  CHECK(swapped.err.find("resume.strict") == std::string::npos);
  const auto compare = [&](const std::string& snapshot, float momentum) {
    const auto after = tensors_of(place, snapshot);
    REQUIRE(after.size() == before.size());
    for (auto& [one, other] : {std::pair<std::string, std::string>{"layers.1.weight", "layers.2.weight"},
                               {"layers.2.bias", "layers.1.bias"},
                               {"layers.0.weight", "layers.0.weight"}}) {
      CAPTURE(one);
      CHECK(after.at(one) == before.at(other));
      auto expected = before.at("optim:momentum_buffer." + other);
      for (float& value : expected) value *= momentum;
      CHECK(after.at("optim:momentum_buffer." + one) == expected);
    }
  };
  compare("run/snapshots/iter-00000011", 0.5F);
  // The stored configuration still has the rules.
  REQUIRE_EXIT(place.run({"run", "--max-iter", "12"}), 0);
  compare("run/snapshots/iter-00000012", 0.25F);

  const auto refused = place.train(
      with({"--run-dir", "run", "--resume", "auto", "--max-iter", "13", "--set", "resume.rename=[\"layers\"]"}, still));
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "--set: resume.rename: 'layers': no rule for names");
  const auto clash = place.train(with(
      {"--run-dir", "run", "--resume", "auto", "--max-iter", "13", "--set", "resume.rename=[\"layers.1 -> layers.2\"]"},
      still));
  CHECK_EXIT(clash, 2);
  CHECK_SAYS(clash, "two tensors get the name 'layers.2.weight'");
}

TEST_CASE("a run may go on with those tensors of a snapshot that fit, and says which do not") {
  const TempRun place(alike);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto before = tensors_of(place, "run/snapshots/iter-00000010");
  const Words other{"--run-dir", "run", "--resume", "auto", "--max-iter", "11", "--set", "net.hidden=[12, 12, 7]"};
  const auto strict = place.train(with(other, still));
  CHECK_EXIT(strict, 4);
  CHECK_SAYS(strict, "resume.strict = false takes those that fit");
  const auto lenient = place.train(with(with(other, still), {"--set", "resume.strict=false", "--set",
                                                             R"(resume.rename=["^layers\\.0\\.bias -> was_bias"])"}));
  REQUIRE_EXIT(lenient, 0);
  CHECK_SAYS(lenient, "the net's tensors missing in the snapshot, so these begin anew: layers.0.bias");
  CHECK_SAYS(lenient,
             "the net's tensors of another shape or type in the snapshot, so these begin anew: "
             "layers.2.weight, layers.2.bias, layers.3.weight");
  CHECK_SAYS(lenient, "the net's tensors unexpected in the snapshot, and left out: was_bias");
  CHECK_SAYS(lenient,
             "the optimizers' state missing in the snapshot, so these begin anew: momentum_buffer.layers.0.bias");
  CHECK_SAYS(lenient, "the run goes on, but not as it would have without the differences above");
  const auto after = tensors_of(place, "run/snapshots/iter-00000011");
  CHECK(after.at("layers.1.weight") == before.at("layers.1.weight"));
  // An average that begins anew is that of its own parameter.
  CHECK(after.at("optim:ema.layers.2.weight") == after.at("layers.2.weight"));
  CHECK(after.at("optim:momentum_buffer.layers.2.weight") == std::vector<float>(7 * 12, 0.0F));
  // Once all fit, there is nothing to say.
  const auto again = place.run({"run", "--max-iter", "12"});
  REQUIRE_EXIT(again, 0);
  CHECK(again.err.find("resume.strict") == std::string::npos);
}

TEST_CASE("the rate that a rollback has lowered goes on with a run, or is forgotten") {
  // A warm-up from a rate that blows the weights up in its first iterations; afterwards the rate is the optimizer's
  // own.
  const Words settings{"--set", "lr.warmup={length = 6, mode = \"fix\", init_lr = 1e25}",
                       "--set", "val.every=0",
                       "--set", "train.nonfinite=rollback",
                       "--set", "train.rollback_lr=0.9"};
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "10"}, settings)), 0);
  const auto rollbacks = metrics_of(place.path("run"), "nonfinite").size();
  REQUIRE(rollbacks > 0);
  copy_run(place);
  const auto last_rate = [&](const std::string& run, const std::string& schedule) {
    const Words on{"--run-dir", run, "--resume", "auto", "--max-iter", "20", "--set", "resume.schedule=" + schedule};
    REQUIRE_EXIT(place.train(with(on, settings)), 0);
    CHECK(metrics_of(place.path(run), "nonfinite").size() == rollbacks);
    return metrics_of(place.path(run), "train").back().at("lr").get<double>();
  };
  CHECK(last_rate("run", "true") == doctest::Approx(0.05 * std::pow(0.9, rollbacks)));
  CHECK(last_rate("copy", "false") == doctest::Approx(0.05));
}

TEST_CASE("what plateaus have made of the rate may be forgotten") {
  const std::string plateau = "[[schedule]]\nname = \"plateau\"\npatience = 1\nmin_delta = 100\n";
  const Words often{"--set", "val.every=3"};
  CHECK(resumed(often, {"--set", "resume.schedule=false"}, plateau) != resumed(often, {}, plateau));
  CHECK(resumed({}, {"--set", "resume.schedule=false"}) == resumed({}, {}));
}

}  // namespace flowtrain::resume_parts_test
