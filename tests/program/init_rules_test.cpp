// [[net.init]]: first values of parameters by rules.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "pipeline/base/snapshot/safetensors.h"
#include "tests/support/temp_run.h"

namespace flowtrain::init_rules_test {
namespace {

namespace fs = std::filesystem;

using Values = std::map<std::string, std::vector<float>>;

/// Of the net that has not learned yet; the mlp's two layers.
Values first_values(const TempRun& place, const Words& more = {}) {
  const fs::path run = place.path("first");
  fs::remove_all(run);
  REQUIRE_EXIT(place.train(with({"--initialize", "--quiet", "--run-dir", "first"}, more)), 0);
  const SafetensorsFile file(run / "snapshots/iter-00000000/model.safetensors");
  Values values;
  for (auto& tensor : file.tensors()) {
    auto& floats = values[tensor.name];
    floats.resize(tensor.bytes / sizeof(float));
    std::memcpy(floats.data(), tensor.data, tensor.bytes);
  }
  return values;
}

std::string tiny_with(const std::string& rules) { return std::string(tiny_config) + rules; }

std::string rule(const std::string& params, const std::string& name, const std::string& keys = "") {
  return "[[net.init]]\nparams = '" + params + "'\nrule = \"" + name + "\"\n" + keys;
}

bool all_are(const std::vector<float>& values, float value) {
  return std::all_of(values.begin(), values.end(), [&](float each) { return each == value; });
}

/// Largest by size.
float greatest(const std::vector<float>& values) {
  float most = 0;
  for (float value : values) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace

TEST_CASE("parameters begin as their last rule says, all others as the net has them") {
  const Values own = first_values(TempRun());
  REQUIRE(own.size() == 4);
  const Values ruled = first_values(TempRun(tiny_with(rule("weight$", "uniform", "range = [-0.001, 0.001]\n") +
                                                      rule("layers.0", "constant", "value = 0.25\n") +
                                                      rule("layers.0.weight", "xavier_uniform", "gain = 0.5\n"))));
  CHECK(all_are(ruled.at("layers.0.bias"), 0.25));
  CHECK(ruled.at("layers.1.bias") == own.at("layers.1.bias"));
  CHECK(greatest(ruled.at("layers.1.weight")) <= 0.001F);
  CHECK(greatest(ruled.at("layers.1.weight")) > 0.0009F);
  const auto fans = static_cast<double>(own.at("layers.0.weight").size()) / 32 + 32;
  CHECK(greatest(ruled.at("layers.0.weight")) == doctest::Approx(0.5 * std::sqrt(6 / fans)).epsilon(0.01));
}

TEST_CASE("what rules draw depends on the seed alone") {
  const TempRun place(tiny_with(rule("layers.0.weight", "orthogonal") + rule("layers.1.weight", "trunc_normal")));
  const Values values = first_values(place);
  CHECK(first_values(place, {"--set", "run.threads=2"}) == values);
  CHECK(first_values(place, {"--distributed", "--world-size", "2"}) == values);
  const Values others = first_values(place, {"--seed", "2"});
  CHECK(others.at("layers.0.weight") != values.at("layers.0.weight"));
  CHECK(others.at("layers.1.weight") != values.at("layers.1.weight"));
}

TEST_CASE("weights that were trained before come after the rules, and so does a run's own snapshot") {
  const TempRun place(tiny_with(rule(".", "normal")));
  const Values trained = first_values(place);
  fs::copy(place.path("first/snapshots/iter-00000000/model.safetensors"), place.path("before.safetensors"));
  const Words constant{"--set", "net.init.0.rule=constant", "--set", "net.init.0.value=0.5"};
  CHECK(all_are(first_values(place, constant).at("layers.1.weight"), 0.5));
  CHECK(first_values(place, with(constant, {"--set", "net.pretrain=before.safetensors"})) == trained);

  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "parts", "--max-iter", "20"}), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "parts", "--resume", "auto"}, constant)), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("whole")));
}

TEST_CASE("rules that cannot be") {
  const auto refused = [](const std::string& rules, const std::string& words) {
    const auto outcome = TempRun(tiny_with(rules)).train();
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, words);
  };
  refused(rule("^layer1\\.weight", "normal"), "tiny.toml:28:1: net.init.0.params: matches no parameter of the net");
  refused(rule("layers.1.weigth", "normal"), "the most similar are layers.1.weight, ");
  refused(rule("bias$", "constant") + rule("layers.0", "xavier_normal"),
          "tiny.toml:32:1: net.init.1.rule: parameter layers.0.bias: xavier_normal is for tensors of 2 dimensions or "
          "more, but this one has 1");
  refused(rule("(", "normal"), "tiny.toml:28:1: net.init.0.params: not a regular expression");
  refused(rule(".", "kaiming"), "tiny.toml:29:1: net.init.0.rule: must be ");
  refused("[[net.init]]\nparams = '.'\n", "tiny.toml:27:1: net.init.0.rule: must be given");
  refused("[[net.init]]\nrule = \"normal\"\n", "tiny.toml:27:1: net.init.0.params: must be given");
  refused(rule(".", "uniform"), "tiny.toml:29:1: net.init.0.rule: \"uniform\" needs a range");
  refused(rule(".", "trunc_normal", "range = [1, 0]\n"), "tiny.toml:30:1: net.init.0.range: must be [least, most]");
  refused(rule(".", "constant", "std = 0.1\n"), "tiny.toml:30:1: net.init.0.std: means nothing to rule = \"constant\"");
  refused(rule("weight$", "kaiming_normal", "negative_slope = 0.2\n"),
          "tiny.toml:30:1: net.init.0.negative_slope: means nothing to");
}

TEST_CASE("a config with rules comes back from its run's folder") {
  const TempRun place(
      tiny_with(rule("weight$", "kaiming_normal", "nonlinearity = \"leaky_relu\"\nnegative_slope = 0.2\n")));
  const auto shown = place.run({"config", "tiny.toml"});
  REQUIRE_EXIT(shown, 0);
  CHECK_PRINTS(shown, "[[net.init]]\nparams = \"weight$\"");
  place.folder().write("again.toml", shown.out);
  CHECK_EXIT(place.run({"info", "again.toml"}), 0);
  CHECK_PRINTS(place.run({"config", "again.toml"}), "negative_slope = 0.2");
}

}  // namespace flowtrain::init_rules_test
