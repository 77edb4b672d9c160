// Nets that write texts: decoders, rates of errors, tests and predictions.

#include <doctest/doctest.h>

#include <fstream>

#include "tests/program/ranks.h"
#include "tests/support/paths.h"

namespace flowtrain::texts_test {
namespace {

using nlohmann::json;

// The net reads the letters of `spoken`, one of which it takes for another: frames of a letter and a blank in turn.
const char* const forward =
    "def forward(self, x):\n"
    "    heard = torch.where(x == 98, torch.full_like(x, 99), x)\n"
    "    frames = torch.stack([heard, torch.full_like(x, 257)], 2).flatten(1)\n"
    "    frames = torch.where(frames < 0, torch.full_like(frames, 257), frames)\n"
    "    wanted = torch.one_hot(frames, 258).transpose(1, 2).float() * 9.0\n"
    "    return {\"logits\": wanted + 0.0 * self.bias.sum(), \"loss\": self.bias.pow(2).sum() + "
    "self.weight.pow(2).sum()}\n";

const char* const config = R"(
[run]
max_iter = 2
seed = 1
[data]
dataset = "manifest"
path = "texts.jsonl"
[data.val]
path = "heard.jsonl"
[[field]]
name = "spoken"
from = "text"
as = "tokens"
tokenizer = "bytes"
max = 64
fill = -1
[[field]]
name = "label"
from = "text"
as = "tokens"
tokenizer = "bytes"
max = 64
fill = -100
[[field]]
name = "speaker"
from = "speaker"
as = "bytes"
max = 8
[loader]
batch = 2
[net]
name = "script"
script = "net.pt"
inputs = ["spoken"]
[loss]
name = "output"
[optim]
name = "sgd"
lr = 0.1
[decode]
name = "ctc_beam"
[val]
every = 2
pictures = 2
metrics = ["wer", "cer"]
group_by = "speaker"
)";

}  // namespace

TEST_CASE("a net's texts are measured in validation, by speaker, in tests and on several ranks, and predicted") {
  const TempRun place(config);
  ProcessOptions around = place.process_options();
  around.program = test::build_path("bin/make_script");
  REQUIRE_EXIT(run_program({"net.pt", forward}, around), 0);
  std::ofstream(place.path("texts.jsonl"))
      << "{\"text\": \"a cat sat\", \"speaker\": \"Ann\"}\n{\"text\": \"a big bus\", \"speaker\": \"Bo\"}\n"
         "{\"text\": \"no\", \"speaker\": \"Ann\"}\n{\"text\": \"rob\", \"speaker\": \"Bo\"}\n";
  fs::copy_file(place.path("texts.jsonl"), place.path("heard.jsonl"));
  for (int processes : {1, 2}) {
    CAPTURE(processes);
    const std::string run = "run" + std::to_string(processes);
    Words words{"--quiet", "--run-dir", run};
    if (processes > 1) words = with(words, {"--distributed", "--world-size", std::to_string(processes)});
    REQUIRE_EXIT(place.train(words), 0);
    const auto line = metrics_of(place.path(run), "val").back();
    CHECK(line.at("wer").get<double>() == doctest::Approx(3. / 8));
    CHECK(line.at("cer").get<double>() == doctest::Approx(3. / 23));
    CHECK(line.at("wer.Ann") == 0);
    CHECK(line.at("wer.Bo").get<double>() == doctest::Approx(3. / 4));
    const auto pictures = json::parse(read_text(place.path(run) / "pictures/iter-00000002/pictures.json"));
    CHECK(pictures.at("kind") == "transcribe");
    CHECK(pictures.at("worst").at(0).at("alignment") == "a [-big-]{+cig+} [-bus-]{+cus+}");
  }
  const auto tested = place.run({"test", "run1", "--snapshot", "latest", "--set", "val.metrics=[\"wer\"]"});
  REQUIRE_EXIT(tested, 0);
  CHECK(json::parse(tested.out).at("wer").get<double>() == doctest::Approx(3. / 8));
  const auto predicted = place.run({"predict", "run1", "texts.jsonl", "--jsonl"});
  REQUIRE_EXIT(predicted, 0);
  CHECK_PRINTS(predicted, "\"text\":\"a cig cus\"");
}

}  // namespace flowtrain::texts_test
