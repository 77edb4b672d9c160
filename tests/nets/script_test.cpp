#include <doctest/doctest.h>
#include <torch/script.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nets/net.h"
#include "tests/support/parts.h"

namespace flowtrain::script_test {

using namespace flowtrain::nets;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("flowtrain-script-test-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

/// Writes a module with a parameter `weight` (2, 3, 1, 1), a buffer `offset`, and this source for forward.
std::string write_script(const Folder& folder, const std::string& source) {
  torch::jit::Module module("Scripted");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight", at::ones({2, 3, 1, 1}).requires_grad_(), /*is_buffer=*/false);
  module.register_buffer("offset", at::full({2}, 0.5));
  module.define(source);
  const std::string file = (folder.path / "net.pt").string();
  module.save(file);
  return file;
}

std::unique_ptr<Net> load(const std::string& file, const std::vector<std::string>& inputs = {}) {
  return flowtrain::testing::make_net({"script", {}, {{"script", file}, {"inputs", inputs}}});
}

const char* const conv_source = R"(
def forward(self, x):
    y = torch.conv2d(x, self.weight).mean([2, 3]) + self.offset
    if self.training:
        y = y * 2
    return y
)";

}  // namespace

TEST_CASE("a script's tensors, modes and result") {
  const Folder folder;
  const auto net = load(write_script(folder, conv_source));
  CHECK(net->parameters().size() == 1);
  CHECK(net->parameters().at("weight").requires_grad());
  CHECK(net->buffers().at("offset").numel() == 2);

  const NamedTensors batch{{"image", at::ones({4, 3, 5, 5})}, {"label", at::zeros({4}, at::kLong)}};
  net->train(false);
  CHECK(net->forward(batch).at("logits").allclose(at::full({4, 2}, 3.5)));
  net->train(true);
  CHECK(net->forward(batch).at("logits").allclose(at::full({4, 2}, 7.0)));
  net->forward(batch).at("logits").sum().backward();
  CHECK(net->parameters().at("weight").grad().defined());

  const at::Tensor weight = net->parameters().at("weight");
  net->to(at::kCPU, true);
  CHECK(weight.is_same(net->parameters().at("weight")));
  CHECK(weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(net->forward(batch).at("logits").allclose(at::full({4, 2}, 7.0)));
}

TEST_CASE("tuples and dicts become named outputs") {
  const Folder folder;
  const NamedTensors batch{{"image", at::ones({1})}};
  const NamedTensors tuple = load(write_script(folder, "def forward(self, x):\n    return x, x + 1\n"))->forward(batch);
  CHECK(tuple.size() == 2);
  CHECK(tuple.at("1").item<double>() == 2);
  const NamedTensors dict =
      load(write_script(folder, "def forward(self, x):\n    return {'loss': x, 'aux': x + 1}\n"))->forward(batch);
  CHECK(dict.size() == 2);
  CHECK(dict.at("aux").item<double>() == 2);

  const std::string file = write_script(folder, "def forward(self, x):\n    return 1\n");
  CHECK_THROWS_WITH_AS(
      load(file)->forward(batch),
      ("script " + file + ": forward gave a Int, expected a tensor, a tuple of tensors, or a dict of tensors by name")
          .c_str(),
      std::invalid_argument);
}

TEST_CASE("what goes wrong in a script is said in one line") {
  const Folder folder;
  const std::string file =
      write_script(folder, "def forward(self, x):\n    return torch.matmul(x, torch.ones([7, 10]))\n");
  CHECK_THROWS_WITH_AS(
      load(file)->forward({{"image", at::ones({8, 3})}}),
      ("script " + file + ": forward failed: RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x3 and 7x10)")
          .c_str(),
      std::invalid_argument);
}

TEST_CASE("arguments take the batch's tensors of their names") {
  const Folder folder;
  const std::string file =
      write_script(folder, "def forward(self, x, label, scale: int = 3):\n    return x * scale + label\n");
  const auto net = load(file);
  CHECK(net->forward({{"label", at::ones({1})}, {"image", at::ones({1})}}).at("logits").item<double>() == 4);
  CHECK_THROWS_WITH_AS(net->forward({{"image", at::ones({1})}}),
                       ("script " + file + ": the batch has no 'label', which forward needs").c_str(),
                       std::invalid_argument);
}

TEST_CASE("inputs name the fields for arguments, by their places or their names") {
  const Folder folder;
  const std::string file = write_script(folder, "def forward(self, a, b, scale):\n    return a * scale - b\n");
  const NamedTensors batch{{"image", at::ones({1})}, {"label", at::full({1}, 5.)}, {"scale", at::full({1}, 3.)}};
  using Inputs = std::vector<std::string>;
  const auto result = [&](const Inputs& inputs) {
    return load(file, inputs)->forward(batch).at("logits").item<double>();
  };
  CHECK(result({"label", "image", "scale = image"}) == 4);
  CHECK(result({"b = label", " scale=scale "}) == -2);
  CHECK(result({"image", "label"}) == -2);
  CHECK(result({"scale", "image", "label"}) == 14);
  CHECK_THROWS_WITH_AS(load(file, Inputs{"b = labels"})->forward(batch),
                       ("script " + file + ": the batch has no 'labels', which inputs names for 'b'").c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      load(file, Inputs{"c = label"}),
      ("script " + file + ": inputs names the argument 'c', but forward has only: a, b, scale").c_str(),
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(load(file, Inputs{"image", "label", "image", "label"}),
                       ("script " + file + ": inputs names 4 fields, but forward has only: a, b, scale").c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(flowtrain::testing::make_net({"mlp", {2, 3, 4, 4}, {{"inputs", Inputs{"image"}}}}),
                       "test.toml:1:1: net.inputs: unknown key", flowtrain::UserError);
}

TEST_CASE("files that are no scripts are refused in one line that names them") {
  const Folder folder;
  auto refused = [](const std::string& file, const std::string& reason) {
    try {
      load(file);
      FAIL("loaded");
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      CHECK(message.starts_with("script " + file + reason));
      CHECK(message.find('\n') == std::string::npos);
    }
  };
  refused((folder.path / "missing.pt").string(), " cannot be read: ");
  const std::string garbage = (folder.path / "garbage.pt").string();
  std::ofstream(garbage) << "not a script";
  refused(garbage, " cannot be read: ");
  const std::string cut = write_script(folder, conv_source);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  refused(cut, " cannot be read: ");
  refused(write_script(folder, "def infer(self, x):\n    return x\n"), ": the module has no method named forward");
}

}  // namespace flowtrain::script_test
