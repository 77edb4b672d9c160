// A net of TorchScript from its file to its snapshot.

#include <doctest/doctest.h>

#include "tests/support/paths.h"
#include "tests/support/temp_run.h"

namespace flowtrain::script_test {
namespace {

/// tiny_config with a script's net, which make_script writes.
std::string with_script(const std::string& inputs) {
  std::string text = tiny_config;
  const std::string net = "name = \"mlp\"\nhidden = [32]\ndropout = 0.3\n";
  return text.replace(text.find(net), net.size(), "name = \"script\"\nscript = \"net.pt\"\n" + inputs);
}

void write_script(const TempRun& place, const std::string& forward) {
  ProcessOptions around = place.process_options();
  around.program = test::build_path("bin/make_script");
  REQUIRE_EXIT(run_program({"net.pt", forward}, around), 0);
}

/// Trained whole, and in two parts: the same. Its parameters move.
void check_resumes(const TempRun& place, const Words& words = {}) {
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "begin", "--initialize"})), 0);
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "whole"})), 0);
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "parts", "--max-iter", "30"})), 0);
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "parts", "--resume", "auto"})), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("whole")));
  const auto diff = place.run({"snapshot", "diff", "begin/snapshots/iter-00000000", "whole/snapshots/iter-00000060"});
  for (auto name : {"model: weight", "model: bias"}) CHECK_PRINTS(diff, name);
}

const std::string logits = "torch.dropout(x.flatten(1), 0.3, self.training).matmul(self.weight) + self.bias";

}  // namespace

TEST_CASE("a script's net trains, resumes, is validated and tested as any other") {
  const TempRun place(with_script(""));
  write_script(place, "def forward(self, x):\n    return " + logits + "\n");
  check_resumes(place);
  const auto line = metrics_of(place.path("whole"), "val").back();
  CHECK(line.at("accuracy").is_number());
  const auto tested = place.run({"test", "whole", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss") == line.at("loss"));
  const auto info = place.run({"info", "tiny.toml"});
  CHECK_PRINTS(info, "net.pt: 4,614 parameters in 2 tensors");
  CHECK_PRINTS(info, "matmul");
  CHECK_PRINTS(info, "16x6 ");
}

TEST_CASE("a script that gives fewer logits than there are classes, or others' rows, is a mistake of the user's") {
  const TempRun place(with_script(""));
  const auto refused = [&](const std::string& given, const Words& texts) {
    write_script(place, "def forward(self, x):\n    return (" + logits + ")" + given + "\n");
    const auto outcome = place.train();
    CHECK_EXIT(outcome, 2);
    for (auto& text : texts) CHECK_SAYS(outcome, text);
    CHECK_MESSAGE(outcome.err.find("bug in flowtrain") == std::string::npos, outcome);
  };
  refused("[:, :3]", {"loss.name: a label is ", "but the net gives 3 logits per row",
                      "hint: make a net with as many logits as the data has classes"});
  refused("[:4]", {"loss.name: logits have shape [4, 6] and label has [16], expected (B, K, …) and (B, …)"});
}

TEST_CASE("a script that computes its own loss, from fields that net.inputs names") {
  const Words own{"--set", "loss.name=output", "--set", "val.metrics=[\"accuracy\"]"};
  const TempRun usual(with_script("")), place(with_script("inputs = [\"image\", \"wanted = label\"]\n"));
  write_script(usual, "def forward(self, x):\n    return " + logits + "\n");
  write_script(
      place,
      "def forward(self, x, wanted):\n    y = " + logits +
          "\n    return {'logits': y, 'loss': torch.nll_loss(torch.log_softmax(y, 1), wanted), 'largest': y.max()}\n");
  check_resumes(place, own);
  // It is the loss that the engine would have computed.
  REQUIRE_EXIT(usual.train({"--run-dir", "usual"}), 0);
  const auto one = metrics_of(usual.path("usual"), "train"), other = metrics_of(place.path("whole"), "train");
  REQUIRE(one.size() == other.size());
  CHECK(other.front().at("loss").get<double>() == doctest::Approx(one.front().at("loss").get<double>()).epsilon(1e-5));
  CHECK(metrics_of(place.path("whole"), "val").back().at("accuracy").is_number());

  const auto unnamed = place.train(with(own, {"--run-dir", "refused", "--set", "net.inputs=[]"}));
  CHECK_EXIT(unnamed, 2);
  CHECK_SAYS(unnamed, "the batch has no 'wanted', which forward needs");
  const auto wrong =
      place.train(with(own, {"--run-dir", "refused too", "--set", "net.inputs=[\"image\", \"wanted = labels\"]"}));
  CHECK_EXIT(wrong, 2);
  CHECK_SAYS(wrong, "the batch has no 'labels', which inputs names for 'wanted'");
}

}  // namespace flowtrain::script_test
