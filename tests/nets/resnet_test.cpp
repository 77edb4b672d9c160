// The ResNets against torchvision: golden files by golden/make.py.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "nets/net.h"
#include "tests/support/parts.h"
#include "tests/support/paths.h"

namespace flowtrain::resnet_test {

using namespace flowtrain::nets;

namespace {

const std::string golden = flowtrain::test::source_path("tests/nets/golden/");

std::unique_ptr<Net> resnet(const std::string& name, std::int64_t classes) {
  return flowtrain::testing::make_net({name, {.classes = classes, .height = 64, .width = 64}});
}

/// Lines as in the golden files.
std::string described(const std::string& kind, const NamedTensors& tensors) {
  std::ostringstream text;
  for (const auto& [name, tensor] : tensors) {
    text << kind << ' ' << name << ' ' << (tensor.scalar_type() == at::kLong ? "int64" : "float32") << " [";
    for (std::int64_t i = 0; i < tensor.dim(); ++i) text << (i > 0 ? ", " : "") << tensor.size(i);
    text << "]\n";
  }
  return text.str();
}

std::string golden_lines(const std::string& net, const std::string& kind) {
  std::ifstream file(golden + net + ".txt");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kind + " ")) text += line + "\n";
  }
  return text;
}

/// `pattern` and `filled` of golden/make.py.
at::Tensor pattern(std::int64_t count, std::int64_t seed) {
  const at::Tensor index = at::arange(count, at::kLong) + seed * 1000003;
  const at::Tensor hash = (index * 1103515245 + 12345).remainder(2147483648).floor_divide(32768);
  return hash.to(at::kFloat) / 65536 - 0.5;
}

at::Tensor filled(const std::string& name, const at::Tensor& tensor, std::int64_t seed) {
  const at::Tensor values = pattern(tensor.numel(), seed).view(tensor.sizes());
  if (tensor.dim() > 1) return values * std::sqrt(24.0 / static_cast<double>(tensor[0].numel()));
  if (name.ends_with("running_var")) return 2 + values;
  if (name.ends_with("weight")) return 1 + values * 0.2;
  return values * 0.2;
}

}  // namespace

TEST_CASE("names, types, shapes and order are those of torchvision's state_dict") {
  for (const std::string name : {"resnet18", "resnet34", "resnet50", "resnet101"}) {
    CAPTURE(name);
    const auto net = resnet(name, 1000);
    CHECK(described("parameter", net->parameters()) == golden_lines(name, "parameter"));
    CHECK(described("buffer", net->buffers()) == golden_lines(name, "buffer"));
  }
}

TEST_CASE("with the same weights the logits are torchvision's") {
  const c10::NoGradGuard no_grad;
  std::ifstream file(golden + "resnet_logits.txt");
  REQUIRE(file.is_open());
  int nets = 0;
  for (std::string line; std::getline(file, line); ++nets) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    CAPTURE(name);
    std::vector<float> expected;
    for (float value; fields >> value;) expected.push_back(value);

    const auto net = resnet(name, 10);
    net->train(false);
    std::int64_t seed = 0;
    for (const NamedTensors& tensors : {net->parameters(), net->buffers()}) {
      for (const auto& [tensor_name, tensor] : tensors) {
        if (tensor.is_floating_point()) tensor.copy_(filled(tensor_name, tensor, seed));
        ++seed;
      }
    }
    const at::Tensor image = pattern(2 * 3 * 64 * 64, 999).view({2, 3, 64, 64});
    const at::Tensor logits = net->forward({{"image", image}}).at("logits");
    const at::Tensor reference = at::tensor(at::ArrayRef<float>(expected)).view({2, 10});
    CHECK((logits - reference).abs().max().item<float>() < 1e-4 * reference.abs().max().item<float>());
  }
  CHECK(nets == 2);
}

TEST_CASE("initial weights: He's normal over the fan out for convolutions, 1 and 0 for batch norm") {
  at::manual_seed(1);
  const auto net = resnet("resnet50", 10);
  const NamedTensors parameters = net->parameters();
  for (const auto& [name, tensor] : parameters) {
    if (tensor.dim() != 4) continue;
    const double fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
    CHECK(tensor.std().item<double>() == doctest::Approx(std::sqrt(2 / fan_out)).epsilon(0.05));
  }
  CHECK(parameters.at("layer1.0.bn3.weight").eq(1).all().item<bool>());
  CHECK(parameters.at("layer1.0.bn3.bias").eq(0).all().item<bool>());
}

TEST_CASE("training moves the running statistics and reaches every parameter") {
  at::manual_seed(1);
  const auto net = resnet("resnet18", 10);
  net->train(true);
  net->forward({{"image", at::randn({2, 3, 64, 64})}}).at("logits").square().sum().backward();
  CHECK(net->buffers().at("bn1.num_batches_tracked").item<std::int64_t>() == 1);
  CHECK(net->buffers().at("bn1.running_mean").ne(0).any().item<bool>());
  for (const auto& [name, tensor] : net->parameters()) {
    CAPTURE(name);
    CHECK(tensor.grad().defined());
  }
}

}  // namespace flowtrain::resnet_test
